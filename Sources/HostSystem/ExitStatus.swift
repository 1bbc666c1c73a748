/// The exit codes of the program, after `sysexits.h`; units do not restart it after `usage` and `badConfiguration`.
package enum ExitStatus: Int32, Sendable {
    case done = 0
    case failed = 1
    case usage = 64
    case hubUnreachable = 69
    case tryLater = 75
    case badConfiguration = 78
}
