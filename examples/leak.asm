; A server whose memory grows: which function is to blame?
;
; Each request is parsed into a list of words and answered with a page; both are garbage a moment
; later. A session is looked up, or opened when its user is new, and never closed. A profile of all
; allocation shows `parse` and `render`, which allocate most; one of what stays alive shows
; `open_session` first:
;
;   vm --profile mem=0.001 examples/leak.asm

.file "server.sml"

; The words of a request: as many cells as its number says, each with a string.
.line 3
fun parse(request: i) -> r {
    words = null
    forty = 40
    n = rem request, forty
next:
    .line 5
    word = str_of_int n
    .line 6
    words = new 1, [words, word], []
    n = sub n, 1
    jge n, 0, next
    ret words
}

.line 12
fun render(words: r) -> r {
    page = "<html>"
next:
    jnull words, done
    word = ld_r words, 1
    .line 15
    page = cat page, word
    words = ld_r words, 0
    jmp next
done:
    ret page
}

; A session: the number of its user, and room for what the user has seen.
.line 21
fun open_session(sessions: r, user: i) -> r {
    size = 512
    zero = 0
    .line 22
    seen = new_b size, zero
    .line 23
    session = new 2, [sessions, seen], [user]
    ret session
}

; The sessions, with one for this user: every tenth user is new.
.line 27
fun session_of(sessions: r, request: i) -> r {
    ten = 10
    kind = rem request, ten
    jne kind, 0, known
    .line 29
    sessions = call open_session(sessions, request)
known:
    ret sessions
}

.line 33
fun serve(sessions: r, request: i) -> r {
    .line 34
    words: r = call parse(request)
    .line 35
    page: r = call render(words)
    .line 36
    sessions = call session_of(sessions, request)
    ret sessions
}

; The sessions are still there when the program ends.
.line 46
fun shut_down(sessions: r) -> r {
    n = 0
    rest = sessions
next:
    jnull rest, done
    n = add n, 1
    rest = ld_r rest, 0
    jmp next
done:
    call print_int(n)
    call print(" sessions\n")
    .line 52
    call exit(0)
    ret sessions
}

.line 40
fun main() {
    sessions = null
    request = 0
next:
    .line 42
    sessions = call serve(sessions, request)
    request = add request, 1
    jlt request, 20000, next
    sessions = call shut_down(sessions)
    ret
}
