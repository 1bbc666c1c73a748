import NIOCore
import NetworkAddresses
import ServiceLifecycle

/// Listens on this machine's own address, too, where the hub listens on one that others reach.
///
/// Programs of this machine speak plain HTTP, which is taken on that address alone.
struct LocalDoor: Service {
    /// What the hub was reached by first, once it is: nothing comes where that takes in this machine's own address.
    let ports: AsyncStream<Int>
    /// Serves on ``host``.
    let serve: @Sendable (_ port: Int) async throws -> Void

    static let host = "127.0.0.1"

    /// Whether a server that was bound to an address is reached by ``host`` on no way.
    static func isNeeded(beside bound: SocketAddress?) -> Bool {
        guard let address = bound?.networkAddress?.unmapped else { return false }
        return !address.isLoopback && !address.bytes.allSatisfy { $0 == 0 }
    }

    func run() async throws {
        for await port in ports.cancelOnGracefulShutdown() {
            try await serve(port)
            return
        }
        try? await gracefulShutdown()
    }
}
