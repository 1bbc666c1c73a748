import CHostSystem
import Glibc

/// Two ends, neither inherited by programs we start, neither one of the three standard descriptors.
struct Pipe {
    let readEnd: Descriptor
    let writeEnd: Descriptor

    init() throws(HostError) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw HostError("cannot make", "a pipe", code: errno) }
        let first = Descriptor(ends[0])
        let second = Descriptor(ends[1])
        self.readEnd = try Self.clearOfStandard(first)
        self.writeEnd = try Self.clearOfStandard(second)
    }

    /// A process started with a closed standard descriptor would get its number here, and lose it again in a child.
    private static func clearOfStandard(_ end: Descriptor) throws(HostError) -> Descriptor {
        guard end.number < 3 else { return end }
        let number = fcntl(end.number, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { throw HostError("cannot make", "a pipe", code: errno) }
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
