import NIOCore
import NIOPosix

/// A connection that sends nothing.
struct PlainConnection: Sendable {
    private let channel: any Channel

    static func open(_ port: Int) async throws -> PlainConnection {
        PlainConnection(
            channel: try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
        )
    }

    /// Waits until the server has closed it.
    func closed() async throws { try await channel.closeFuture.get() }
}
