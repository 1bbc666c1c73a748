import Crypto
import Foundation
import HubProtocol
import HubTestServer
import PushServices
import Synchronization
import Testing

/// Provider tokens: few, shared, kept, and right again after the clock was wrong.
@Suite struct ProviderTokenTests {
    final class Memory: ProviderTokenStore {
        private let tokens = Mutex<[ProviderIssuer: ProviderToken]>([:])
        func load(_ issuer: ProviderIssuer) -> ProviderToken? { tokens.withLock { $0[issuer] } }
        func save(_ token: ProviderToken, _ issuer: ProviderIssuer) { tokens.withLock { $0[issuer] = token } }
    }

    /// Sends once and returns the token that went along.
    private func token(
        _ directory: PushServiceDirectory,
        _ server: ScriptedHTTPServer,
        _ changes: [String: String?] = [:]
    ) async throws -> String {
        let service = try directory.service(for: ApnsCredentialTests.credential(changes))
        let push = try ReadyPush(PushMessage(format: .apple, body: Array("{}".utf8), acceptedAt: 0), by: service)
        _ = await push.send(to: PushTarget(channel: .handle("00"), id: UUID()))
        await service.shutdown()
        return server.requests.last?.header("authorization") ?? ""
    }

    private func directory(
        _ server: ScriptedHTTPServer,
        _ store: any ProviderTokenStore
    ) -> PushServiceDirectory {
        PushServiceDirectory(
            emulation: .init(origin: server.baseURL, certificateAuthorities: "", credentials: []),
            tokens: store
        )
    }

    @Test func `hubs share a key's token, other keys have their own, and a restart keeps it`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let memory = Memory()
        let directory = directory(server, memory)
        let first = try await token(directory, server)
        #expect(try await token(directory, server, ["AppName": "org.example.second"]) == first)
        #expect(try await token(directory, server, ["KeyId": "OTHERKEY12"]) != first)
        #expect(try await token(self.directory(server, memory), server) == first)
    }

    @Test func `an expired token is replaced at once if it can be expired`() async throws {
        let now = Mutex(Timestamp(milliseconds: 1_800_000_000_000))
        let refused = Mutex(false)
        let server = try ScriptedHTTPServer { _ in
            refused.withLock { isRefused in
                defer { isRefused = false }
                return isRefused ? .status(403, body: #"{"reason":"ExpiredProviderToken"}"#) : .status(200)
            }
        }
        let directory = PushServiceDirectory(
            emulation: .init(origin: server.baseURL, certificateAuthorities: "", credentials: []),
            now: { now.withLock { $0 } }
        )
        let first = try await token(directory, server)
        // A young one is not replaced: APNs would count it.
        refused.withLock { $0 = true }
        #expect(try await token(directory, server) == first)
        now.withLock { $0 = $0 + .seconds(25 * 60) }
        refused.withLock { $0 = true }
        let second = try await token(directory, server)
        #expect(second != first)
        // It is used until it is 50 minutes old, and a clock that was set back makes a new one.
        now.withLock { $0 = $0 + .seconds(49 * 60) }
        #expect(try await token(directory, server) == second)
        now.withLock { $0 = $0 - .seconds(3_600) }
        let third = try await token(directory, server)
        #expect(third != second)
        now.withLock { $0 = $0 + .seconds(51 * 60) }
        #expect(try await token(directory, server) != third)
    }
}
