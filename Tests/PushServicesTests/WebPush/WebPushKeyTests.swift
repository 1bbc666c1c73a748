import Crypto
import Foundation
import HubProtocol
import HubTestServer
import Synchronization
import Testing

@testable import PushServices

/// Which of a sender's keys are tried for a subscription.
@Suite struct WebPushKeyTests {
    /// Answers that say that a subscription wants another key.
    static let refusals: [(Int, String)] = [
        (400, "{\"reason\":\"VapidPkHashMismatch\"}"), (403, "{\"reason\":\"VapidPkHashMismatch\"}"),
        (401, "{\"errno\":109,\"message\":\"VAPID public key mismatch\"}"),
        (403, "the VAPID credentials in the authorization header do not correspond to the credentials used"),
    ]
    /// Answers that may say so, or that the sender is refused.
    static let unclear: [(Int, String)] = [(401, ""), (403, ""), (401, "{\"errno\":109}")]

    @Test(arguments: refusals + unclear)
    func `a subscription made with an older key is reached with it`(_ status: Int, _ body: String) async throws {
        let keys = (0..<3).map { _ in P256.Signing.PrivateKey() }
        for (index, wanted) in keys.enumerated() {
            let text = WebPushSender.publicText(wanted)
            let peer = try WebPushPeer(keys[0], former: Array(keys[1...])) { request in
                request.vapid.key == text ? .status(201) : .status(status, body: body)
            }
            #expect(try await peer.send().kind == "accepted -")
            #expect(peer.server.requests.count == index + 1)
            // The key that was noted is tried first.
            #expect(try await peer.send(to: peer.target(key: wanted)).kind == "accepted -")
            #expect(peer.server.requests.count == index + 2)
        }
    }

    @Test(arguments: refusals)
    func `a subscription that wants no key of ours is a bad route after three`(_ status: Int, _ body: String)
        async throws
    {
        let keys = (0..<5).map { _ in P256.Signing.PrivateKey() }
        let peer = try WebPushPeer(keys[0], former: Array(keys[1...])) { _ in .status(status, body: body) }
        let outcome = try await peer.send(to: peer.target(key: keys[4]))
        #expect(outcome.kind == "bad route" && outcome.words.contains("answered \(status)"))
        let tried = peer.server.requests.map(\.vapid.key)
        #expect(tried == [keys[4], keys[0], keys[1]].map { WebPushSender.publicText($0) })
    }

    @Test(arguments: unclear)
    func `a refusal that names no reason is one of the sender after three keys`(_ status: Int, _ body: String)
        async throws
    {
        let keys = (0..<5).map { _ in P256.Signing.PrivateKey() }
        let peer = try WebPushPeer(keys[0], former: Array(keys[1...])) { _ in .status(status, body: body) }
        let outcome = try await peer.send(to: peer.target(key: keys[4]))
        #expect(outcome.kind == "refused sender" && outcome.words.contains("answered \(status)"))
        #expect(peer.server.requests.count == 3)
    }

    @Test func `a refusal of the sender's token is not asked about with other keys`() async throws {
        let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
        let peer = try WebPushPeer(keys[0], former: [keys[1]]) { _ in .status(403, body: #"{"reason":"BadJwtToken"}"#) }
        #expect(try await peer.send().kind == "refused sender")
        #expect(peer.server.requests.count == 1)
    }

    @Test func `a token that has grown old is renewed once before other keys are tried`() async throws {
        let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
        let peer = try WebPushPeer(keys[0], former: [keys[1]]) { request in
            request.path == "/push/good" ? .status(201) : .status(403)
        }
        _ = try await peer.send(to: peer.target("https://127.0.0.1/push/good"))
        peer.clock.now = peer.clock.now + .seconds(600)
        #expect(try await peer.send().kind == "refused sender")
        let requests = peer.server.requests
        #expect(requests.map(\.vapid.key) == [keys[0], keys[0], keys[0], keys[1]].map { WebPushSender.publicText($0) })
        #expect(requests[0].vapid.token == requests[1].vapid.token)
        #expect(requests[1].vapid.token != requests[2].vapid.token)
        // The body needs no other key.
        #expect(Set(requests[1...].map(\.body)).count == 1)
    }

    @Test func `a renewed token that is taken ends the search`() async throws {
        let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
        let first = Mutex<String?>(nil)
        let peer = try WebPushPeer(keys[0], former: [keys[1]]) { request in
            // Takes the first token once only.
            let isRepeat = first.withLock { token in
                defer { token = token ?? request.vapid.token }
                return token == request.vapid.token
            }
            return .status(isRepeat ? 401 : 201)
        }
        #expect(try await peer.send().kind == "accepted -")
        peer.clock.now = peer.clock.now + .seconds(600)
        #expect(try await peer.send().kind == "accepted -")
        #expect(
            peer.server.requests.map(\.vapid.key) == [String](repeating: WebPushSender.publicText(keys[0]), count: 3)
        )
    }

    @Test func `a failure while keys are tried is what is reported`() async throws {
        let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
        let current = WebPushSender.publicText(keys[0])
        for (status, kind) in [(410, "dead"), (503, "retry -"), (413, "too large")] {
            let peer = try WebPushPeer(keys[0], former: [keys[1]]) { request in
                .status(request.vapid.key == current ? 403 : status)
            }
            #expect(try await peer.send().kind == kind)
        }
    }

    @Test func `a clock that is wrong is named`() async throws {
        let peer = try WebPushPeer { _ in .status(401, headers: [("Date", "Fri, 15 Jan 2027 21:00:00 GMT")]) }
        #expect(try await peer.send().words.contains("this machine's clock is 780 minutes behind the service's"))
    }
}
