import HubClient
import Testing

@testable import FeedPublisher

@Suite struct HubFailureTests {
    private func failure(_ status: Int, _ detail: String) -> HubFailure {
        let error = HubClientError.refused(status: status, code: status, detail: detail, retryAfter: nil)
        return HubFailure(error, at: "news", pending: 1)
    }

    @Test func `a key that may not send is told from a wrong one, and each is news`() {
        let listening = failure(401, "Send claim is required for this operation.")
        #expect(listening.line.hasSuffix("401: Send claim is required for this operation; 1 message waits"))
        #expect(listening.advice?.contains("for those who listen") == true)
        let wrong = failure(401, "The token has an invalid signature.")
        #expect(wrong.advice?.contains("check the key") == true)
        #expect(wrong.kind != listening.kind)
    }
}
