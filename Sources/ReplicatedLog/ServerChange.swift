import CNats
import Foundation
import Glibc
import NetworkAddresses
import Synchronization

/// Decides when a node leaves a server of the log that answers, but has no majority behind it.
final class ServerSilence: Sendable {
    /// Time without a result after which the node changes to another server.
    ///
    /// Two unanswered requests take as long. An election may take longer, and a change does no harm meanwhile.
    static let patience = Duration.seconds(4)

    private let first = Mutex<ContinuousClock.Instant?>(nil)

    /// Notes an answer.
    func end() { first.withLock { $0 = nil } }

    /// Notes an attempt without an answer, which began at `begin`.
    ///
    /// - Returns: True if it is time to change; then again after ``patience``.
    func isTooLong(since begin: ContinuousClock.Instant) -> Bool {
        first.withLock { first in
            let (since, now) = (first ?? begin, ContinuousClock.now)
            let isTooLong = now - since >= Self.patience
            first = isTooLong ? now : since
            return isTooLong
        }
    }
}

extension EngineConnection {
    /// Ends the connection to this server, so that nats.c connects to the next one of its list.
    ///
    /// nats.c before 3.9 has no function for it, and takes a server for present as long as it answers pings.
    func changeServer() {
        guard let remote = LogServer(server)?.port, let local = localPort else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in names.lazy.compactMap({ Int32($0) })
        where Self.port(of: descriptor, getsockname) == local && Self.port(of: descriptor, getpeername) == remote {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    private typealias AddressCall = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    /// A port of a TCP socket; `nil` for another descriptor.
    private static func port(of descriptor: Int32, _ call: AddressCall) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> UInt16? in
            guard let base = bytes.baseAddress,
                call(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            let family = Int32(bytes.load(as: sa_family_t.self))
            guard family == AF_INET || family == AF_INET6 else { return nil }
            // The same place in both kinds of address.
            return UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
