import HummingbirdCore
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import WebEdge

/// Serves requests on one port, on the configured address and, unless that includes it, on the loopback address.
struct PortListener<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    /// An address of this machine.
    let host: String
    /// 0 means any free port.
    let port: Int
    let responder: Responder
    /// `nil` if no streams are served.
    let streams: StreamGate?
    let edge: ServerEdge
    let group: MultiThreadedEventLoopGroup

    /// The services that listen and serve; `onRunning` is called with the port when connections are accepted.
    func services(onRunning: @escaping @Sendable (Int) async -> Void) -> [any Service] {
        let (ports, bound) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let application = application(on: host, port) { channel in
            let number = channel.localAddress?.port ?? 0
            if LoopbackListener.isNeeded(beside: channel.localAddress) {
                bound.yield(number)
            } else {
                await onRunning(number)
            }
        }
        let loopback = LoopbackListener(ports: ports) { port in
            try await self.application(on: LoopbackListener.host, port) { _ in await onRunning(port) }.run()
        }
        return [application, loopback] + (edge.tls.map { [$0] } ?? [])
    }

    private func application(
        on host: String,
        _ port: Int,
        onRunning: @escaping @Sendable (any Channel) async -> Void
    ) -> Application<Responder> {
        Application(
            responder: responder,
            server: HTTPServerBuilder { [streams, edge] responder in
                ProtocolDetectingChannel(responder, streams: streams, edge: edge)
            },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: "newswire",
                backlog: 4096
            ),
            onServerRunning: onRunning,
            eventLoopGroupProvider: .shared(group),
            logger: edge.logger.quieter
        )
    }
}
