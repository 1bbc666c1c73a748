import HubClient
import HubProtocol
import Testing

@testable import FeedPublisher

@Suite struct HubProblemTests {
    private func problem(_ code: ProtocolError.Code, _ detail: String) -> HubProblem {
        let error = HubError.refused(status: 401, code: code.number, detail: detail, retryAfter: nil)
        return HubProblem(error, at: "news", pending: 1)
    }

    @Test func `a key without the right to send is distinguished from a wrong one, and each is reported`() {
        let listening = problem(.claimRequired, "Send claim is required for this operation.")
        #expect(listening.line.hasSuffix("401: Send claim is required for this operation; 1 message waits"))
        #expect(listening.hint == .listenersKey)
        let wrong = problem(.invalidSignature, "The token has an invalid signature.")
        #expect(wrong.hint == .key)
        #expect(wrong.kind != listening.kind)
    }
}
