; Counts lines, words and bytes of the standard input, and finds the most frequent word.
;
; A word is what stands between blanks and control characters, letters made small. Words are kept
; in a hash table: an array of chains. A chain is null, or a record with the references `word` and
; `next` and the raw field `count`.
;
; Strings are bytes that cannot change; `get_b` reads one, `sub_str` copies a part, and byte
; arrays are what can be written to.

; The bytes with letters from A to Z made small.
fun small(text: r) -> r {
    length = len text
    zero = 0
    bytes = new_b length, zero
    copy bytes, zero, text, zero, length
    at = 0
    jge at, length, done
next:
    letter = get_b bytes, at
    jlt letter, 'A', keep
    jgt letter, 'Z', keep
    letter = add letter, 32
    set_b bytes, at, letter
keep:
    at = add at, 1
    jlt at, length, next
done:
    text = str_of_bytes bytes
    ret text
}

; The chain's number in a table of this size, a power of 2.
fun slot(word: r, size: i) -> i {
    hash = 5381
    length = len word
    at = 0
    jge at, length, done
next:
    letter = get_b word, at
    hash = mul hash, 33
    hash = xor hash, letter
    at = add at, 1
    jlt at, length, next
done:
    mask = sub size, 1
    hash = and hash, mask
    ret hash
}

; Adds one to a word's count, and gives its record.
fun count_word(table: r, word: r) -> r {
    size = len table
    slot = call slot(word, size)
    first = get_r table, slot
    entry = first
    jnull entry, absent
look:
    other = ld_r entry, 0
    order = cmp word, other
    jeq order, 0, present
    entry = ld_r entry, 1
    jnonnull entry, look
absent:
    zero = 0
    entry = new 1, [word, first], [zero]
    set_r table, slot, entry
present:
    count = ld_i entry, 0
    count = add count, 1
    st_i entry, 0, count
    ret entry
}

; Counts the words of a line. Gives how many there are, and the record with the highest count in
; the line and before, which is `best` so far.
fun count_line(table: r, line: r, best: r) -> (i, r) {
    words = 0
    length = len line
    at = 0
blank:
    jge at, length, done
    letter = get_b line, at
    jgt letter, ' ', word
    at = add at, 1
    jmp blank
word:
    start = at
more:
    at = add at, 1
    jge at, length, end
    letter = get_b line, at
    jgt letter, ' ', more
end:
    size = sub at, start
    text = sub_str line, start, size
    text = call small(text)
    entry = call count_word(table, text)
    words = add words, 1
    jnull best, better
    count = ld_i entry, 0
    most = ld_i best, 0
    jle count, most, blank
better:
    best = entry
    jmp blank
done:
    ret words, best
}

fun show(number: i, unit: r) {
    call print_int(number)
    call print(unit)
    ret
}

fun main() {
    size = 1024
    none = null
    table = new_r size, none
    best = null
    lines = 0
    words = 0
    bytes = 0
read:
    ok, line = call read_line()
    jeq ok, 0, finish
    lines = add lines, 1
    length = len line
    bytes = add bytes, length
    n, best = call count_line(table, line, best)
    words = add words, n
    jmp read
finish:
    call show(lines, " lines\n")
    call show(words, " words\n")
    call show(bytes, " bytes\n")
    jnull best, done
    word = ld_r best, 0
    call print(word)
    count = ld_i best, 0
    call print(": ")
    call show(count, " times\n")
done:
    ret
}
