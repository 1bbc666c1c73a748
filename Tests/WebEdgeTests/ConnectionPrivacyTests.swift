import Certificates
import Foundation
import HubTestServer
import NIOCore
import NIOPosix
import NIOSSL
import NetworkAddresses
import Testing

@testable import HubServer
@testable import WebEdge

@Suite struct ConnectionPrivacyTests {
    /// A connection as its server sees it.
    private func accepted(_ tls: NIOSSLContext?) async throws -> (server: any Channel, child: any Channel) {
        let (children, child) = AsyncStream<any Channel>.makeStream()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    child.yield(channel)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        _ = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        var iterator = children.makeAsyncIterator()
        return (server, try #require(await iterator.next()))
    }

    @Test(arguments: [true, false])
    func `TLS is seen on the connection itself`(isSecured: Bool) async throws {
        let scratch = try ScratchFolder()
        let names = [HostName("localhost")].compactMap(\.self)
        let source = CertificateSource.local(LocalCertificates(directory: scratch.path, names: names))
        let context = try CertificateReloader.context(try source.identity(at: Date()))
        let (server, child) = try await accepted(isSecured ? context : nil)
        #expect(await WebClient(child).speaksTLS == isSecured)
        try? await child.close()
        try await server.close()
    }
}
