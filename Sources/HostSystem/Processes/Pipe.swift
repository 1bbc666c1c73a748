import CHostSystem
import Glibc

/// A pipe whose ends are not inherited by programs that we start, and are not standard descriptors.
struct Pipe {
    let readEnd: Descriptor
    let writeEnd: Descriptor

    init() throws(HostError) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw HostError("cannot create", "a pipe", code: errno) }
        let first = Descriptor(ends[0])
        let second = Descriptor(ends[1])
        self.readEnd = try Self.clearOfStandard(first)
        self.writeEnd = try Self.clearOfStandard(second)
    }

    /// Moves an end away from the standard descriptors: a process started with one of those closed would get its number
    /// here, and a child would lose it.
    private static func clearOfStandard(_ end: Descriptor) throws(HostError) -> Descriptor {
        guard end.number < 3 else { return end }
        let number = fcntl(end.number, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { throw HostError("cannot create", "a pipe", code: errno) }
        return Descriptor(number)
    }
}

extension Descriptor {
    func makeNonBlocking() throws(HostError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw HostError("cannot set up", "a pipe", code: errno)
        }
    }
}
