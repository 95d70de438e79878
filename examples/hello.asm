; Hello: the smallest program that says something.
;
; A program is a list of functions, and a run starts at `main`. A comment runs from a semicolon
; to the end of its line.

fun main() {
    call print("Hello, world!\n")
    ret
}
