; A module may want a function that the host does not offer.
host launch_rocket(i)
fun main() {
    call launch_rocket(1)
    ret
}
