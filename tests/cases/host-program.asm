; What a program knows of itself and its machine, and its streams as files.
fun code(c: i) {
    call print_int(c)
    call print(" ")
    ret
}

fun main() {
    s = call program_name()
    call print_line(s)
    found, s = call environment_variable("NO SUCH = NAME")
    call code(found)
    found, s = call environment_variable("PATH")
    call code(found)
    c, s = call folder_current()
    call code(c)
    c = call file_write(1, "to the output ")
    call code(c)
    c = call file_write(2, "to the error output\n")
    call code(c)
    c = call file_write(0, "nowhere")
    call code(c)
    c = call file_close(1)
    call code(c)
    c, s = call file_read(0, 10)
    call code(c)
    c, s = call file_read(7, 10)
    call code(c)
    c, n = call file_seek(1, 0, 0)
    call code(c)
    call print("\n")
    s = call error_message(2)
    call print_line(s)
    s = call error_message(0)
    call print_line(s)
    c, u, k = call cpu_time()
    t = call gc_time()
    jge u, 0, counted
    call print_line("time runs backwards")
counted:
    call sleep(0)
    call sleep(-1)
    ret
}
