import NIOCore
import NetworkAddresses
import ServiceLifecycle
import WebEdge

/// Listens on the loopback address as well if the hub listens on another address.
///
/// Programs on this machine use plain HTTP, which is accepted on that address only.
struct LoopbackListener: Service {
    /// The ports on which the hub has begun to listen; yields none if its address already includes the loopback
    /// address.
    let ports: AsyncStream<Int>
    /// Serves on ``host``.
    let serve: @Sendable (_ port: Int) async throws -> Void

    static let host = "127.0.0.1"

    /// True if a server that was bound to an address cannot be reached as ``host``.
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
