import Foundation
import HubProtocol
import HubStore
import Logging
import SharedLog
import Testing

@testable import HubServer

/// Two nodes of a hub, each with clocks of its own.
///
/// The first one has the duties. A node learns of what the other one has written when a test lets it.
struct TwoNodes {
    let a: TestHub
    let b: TestHub
    let log: MemoryLog
    let channel: MemoryChannel

    static func run(
        folders: (a: Scratch, b: Scratch)? = nil,
        clocks: (a: TestClock, b: TestClock) = (TestClock(), TestClock()),
        logger: Logger = .quiet,
        configure: (inout HubConfiguration) throws -> Void = { _ in },
        _ body: (TwoNodes) async throws -> Void
    ) async throws {
        let (first, second) = try (folders?.a ?? Scratch(), folders?.b ?? Scratch())
        let (log, channel) = (MemoryLog(incarnation: "log"), MemoryChannel())
        var result = Result { () throws in () }
        // Entries hold credentials, encrypted with the key that all nodes have.
        func prepare(_ configuration: inout HubConfiguration) {
            configuration.secretsPath = first.path + ".key"
            // Tests let the nodes look.
            configuration.leaseInterval = .seconds(3_600)
            configuration.presenceInterval = .seconds(3_600)
            result = Result { try configure(&configuration) }
        }
        try await TestHub.run(
            first,
            log: log.node("a", isNotified: false),
            channel: channel.node("a"),
            clock: clocks.a,
            logger: logger,
            configure: prepare
        ) { a in
            try result.get()
            await a.keepLease()
            try await TestHub.run(
                second,
                log: log.node("b", isNotified: false),
                channel: channel.node("b"),
                clock: clocks.b,
                logger: logger,
                configure: prepare
            ) { b in
                try await body(TwoNodes(a: a, b: b, log: log, channel: channel))
            }
        }
    }

    /// Lets time pass at `b` without a word from `a`, until `b` has the duties.
    func takeOver() async throws {
        await b.keepLease()
        b.clock.advance(by: LeaseKeeper.patience.seconds)
        await b.keepLease()
        try #require(b.service.lease.current != nil)
    }

    /// Announces another node of an earlier version, `sender` with the same name.
    func announcePresence(of node: String, from sender: String? = nil) {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.presence)
        bytes.append(text: node)
        bytes.append(text: "1")
        bytes.append(number: 1)
        channel.node(sender ?? node).announce(bytes.bytes)
    }

    /// Both nodes have what the other one has written.
    func catchUp() async throws {
        for node in [a, b] { try await node.service.catchUp() }
    }
}

extension TestHub {
    /// Looks at the duties, as the node does twice a second.
    func keepLease() async { await service.nodes?.leaseKeeper.look() }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) }
}
