import Foundation
import HTTPTypes
import HostSystem
import HubProtocol
import HubTestServer
import Logging
import OutboundHTTP
import Synchronization
import Testing

@testable import AppBackend
import WebTokens

/// How the provider's keys are fetched and kept.
@Suite struct ProviderKeysTests {
    private let clock = TestClock()

    /// The key set that a server answers with.
    private final class KeySet: Sendable {
        private let reply: Mutex<ScriptedReply>

        init(_ text: String) { reply = Mutex(.status(200, body: text)) }

        var current: ScriptedReply { reply.withLock { $0 } }

        func set(_ new: ScriptedReply) { reply.withLock { $0 = new } }
    }

    private func token(_ id: String) throws -> SignedToken {
        let claims = TestProvider.claims(at: clock.backend.now())
        return try SignedToken(ofProvider: TestProvider.token(header: #"{"alg":"ES256","kid":"\#(id)"}"#, claims))
    }

    private func run(
        _ logger: Logger = .quiet,
        _ body: (ProviderKeys, KeySet, ScriptedHTTPServer) async throws -> Void
    ) async throws {
        let set = KeySet(TestProvider.keySet([TestProvider.p256Key("e")]))
        let server = try ScriptedHTTPServer { _ in set.current }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let keys = ProviderKeys(.url(server.url("/jwks"), http), clock: { [clock] in clock.monotonic }, logger: logger)
        try await body(keys, set, server)
        await http.shutdown()
    }

    private func isKnown(_ id: String, _ keys: ProviderKeys) async throws -> Bool {
        let token = try token(id)
        return try await keys.keys(for: token).haveKey(for: token)
    }

    @Test func `keys are fetched once, whoever needs them at the same time`() async throws {
        try await run { keys, _, server in
            let found = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 { group.addTask { try await isKnown("e", keys) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(found == Array(repeating: true, count: 20))
            #expect(server.requests.count == 1)
            clock.advance(by: ProviderKeys.lifetime - .seconds(1))
            #expect(try await isKnown("e", keys))
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a key that is not known is asked for once a minute, whoever sends how many tokens`() async throws {
        try await run { keys, set, server in
            let isThere = try await isKnown("e", keys)
            #expect(isThere)
            for _ in 0..<50 { #expect(try await !isKnown("next", keys)) }
            #expect(server.requests.count == 1, "the keys were fetched within the minute")
            clock.advance(by: ProviderKeys.pause)
            for _ in 0..<50 { #expect(try await !isKnown("next", keys)) }
            #expect(server.requests.count == 2)
            set.set(.status(200, body: TestProvider.keySet([TestProvider.p256Key("next")])))
            clock.advance(by: ProviderKeys.pause)
            #expect(try await isKnown("next", keys))
            #expect(try await !isKnown("e", keys), "a key that the provider has withdrawn is gone")
            #expect(server.requests.count == 3)
        }
    }

    @Test func `the last keys are used while the provider is down`() async throws {
        let log = LogLines()
        let faults: [ScriptedReply] = [
            .status(503), .status(200, body: "<html>"), .status(200, body: #"{"keys":[]}"#),
            .redirect(to: "/elsewhere"),
            .status(200, body: String(repeating: " ", count: SigningKeys.maximumBytes + 1)),
        ]
        try await run(log.logger) { keys, set, server in
            let isThere = try await isKnown("e", keys)
            #expect(isThere)
            for (number, fault) in faults.enumerated() {
                set.set(fault)
                clock.advance(by: ProviderKeys.lifetime)
                #expect(try await !isKnown("next", keys))
                #expect(try await isKnown("e", keys))
                #expect(server.requests.count == number + 2)
            }
            server.close()
            clock.advance(by: ProviderKeys.lifetime)
            #expect(try await !isKnown("next", keys))
            #expect(try await isKnown("e", keys))
            let warnings = log.all.filter { $0.hasPrefix("warning the identity provider's keys") }
            #expect(warnings.count == 1, "\(log.all)")
        }
    }

    @Test func `old keys are fetched again while they are used`() async throws {
        try await run { keys, set, server in
            let isThere = try await isKnown("e", keys)
            #expect(isThere)
            let gate = Gate()
            set.set(.status(200, body: TestProvider.keySet([TestProvider.p256Key("next")])).held(by: gate))
            clock.advance(by: ProviderKeys.refreshAge)
            #expect(try await isKnown("e", keys), "without waiting")
            _ = await server.requests(atLeast: 2)
            gate.open()
            #expect(try await isKnown("next", keys))
            #expect(server.requests.count == 2)
        }
    }

    @Test func `a key that the provider has withdrawn is refused by the first request after a long time`() async throws
    {
        try await run { keys, set, server in
            let isThere = try await isKnown("e", keys)
            #expect(isThere)
            set.set(.status(200, body: TestProvider.keySet([TestProvider.p256Key("next")])))
            clock.advance(by: ProviderKeys.lifetime)
            #expect(try await !isKnown("e", keys))
            #expect(server.requests.count == 2)
        }
    }

    @Test func `without any keys nobody signs in, and the provider is asked again after a while`() async throws {
        try await run { keys, set, server in
            set.set(.status(500))
            let token = try token("e")
            for _ in 0..<5 { await #expect(throws: TokenProblem.noKeys) { try await keys.keys(for: token) } }
            #expect(server.requests.count == 1)
            set.set(.status(200, body: TestProvider.keySet([TestProvider.p256Key("e")])))
            clock.advance(by: ProviderKeys.firstPause)
            #expect(try await isKnown("e", keys))
        }
    }

    @Test func `a file is read again when it changes, and its last keys are used while it is damaged`() async throws {
        let (scratch, log) = (try ScratchFolder(), LogLines())
        let path = scratch.file("jwks.json")
        let keys = ProviderKeys(.file(path), clock: { [clock] in clock.monotonic }, logger: log.logger)
        let token = try token("e")
        await #expect(throws: TokenProblem.noKeys) { try await keys.keys(for: token) }
        func write(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }
        try write(TestProvider.keySet([TestProvider.p256Key("e")]))
        #expect(try await isKnown("e", keys))
        try write(TestProvider.keySet([TestProvider.p256Key("next")]))
        #expect(try await isKnown("next", keys))
        #expect(try await !isKnown("e", keys))
        try write(#"{"keys":"#)
        #expect(try await isKnown("next", keys))
        try FileManager.default.removeItem(atPath: path)
        #expect(try await isKnown("next", keys))
        let warnings = log.all.filter { $0.hasPrefix("warning the identity provider's keys") }
        #expect(warnings.count == 2, "missing at first, damaged later: \(log.all)")
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"keys":{}}"#, #"{"keys":[7,{}]}"#,
        #"{"keys":[{"kty":"RSA","kid":"r","n":"AQAB","e":"AQAB"}]}"#,
        #"{"keys":[{"kty":"EC","crv":"P-256","kid":"e","x":"AA","y":"AA"}]}"#,
        #"{"keys":[{"kty":"EC","crv":"P-256","kid":"e"}]}"#, #"{"keys":[{"kty":"oct","kid":"s","k":"AA"}]}"#,
        #"{"keys":[{"kty":"OKP","crv":"X25519","kid":"x","x":"AA"}]}"#,
    ])
    func `a set without a usable key is refused`(text: String) {
        #expect(throws: SigningKeysProblem.self) { try SigningKeys(Array(text.utf8)) }
    }

    @Test func `keys of an older file do not replace those of a newer one that was read meanwhile`() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.file("jwks.json")
        func write(_ id: String) async throws -> (SigningKeys, FileStamp?) {
            let text = TestProvider.keySet([TestProvider.p256Key(id)])
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return (try SigningKeys(Array(text.utf8)), FileStamp(path))
        }
        let (old, former) = try await write("e")
        let (new, stamp) = try await write("next one")
        var file = ProviderKeys.FileKeys()
        var isBegun = [file.begin(former), file.begin(stamp)]
        var counts = [file.end(new, stamp), file.end(old, former)]
        #expect(file.keys?.haveKey(for: try token("next one")) == true)
        isBegun.append(file.begin(stamp))
        // Nor does the failure of the older reading count.
        counts.append(file.end(nil, former))
        isBegun.append(file.begin(stamp))
        counts.append(file.end(nil, stamp))
        isBegun.append(file.begin(stamp))
        #expect(isBegun == [true, true, false, false, true])
        #expect(counts == [true, false, false, true])
        // The older reading ends first.
        file = ProviderKeys.FileKeys()
        isBegun = [file.begin(former), file.begin(stamp)]
        counts = [file.end(old, former)]
        #expect(file.keys?.haveKey(for: try token("e")) == true, "better than none")
        counts.append(file.end(new, stamp))
        #expect(file.keys?.haveKey(for: try token("next one")) == true)
        isBegun.append(file.begin(stamp))
        #expect(isBegun == [true, true, false] && counts == [true, true])
    }

    @Test func `keys of a file count, although another request failed to read the file meanwhile`() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.file("jwks.json")
        let text = TestProvider.keySet([TestProvider.p256Key("e")])
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let (keys, stamp) = (try SigningKeys(Array(text.utf8)), FileStamp(path))
        var file = ProviderKeys.FileKeys()
        let isBegun = [file.begin(stamp), file.begin(stamp)]
        let counts = [file.end(nil, stamp), file.end(keys, stamp)]
        #expect(isBegun == [true, true] && counts == [true, true])
        #expect(file.keys?.haveKey(for: try token("e")) == true)
        let isReadAgain = file.begin(stamp)
        #expect(!isReadAgain)
    }
}
