import HubProtocol
import OutboundHTTP

extension HubError: CallError {
    /// A refusal from its reply: the protocol's `<Error>` if there is one.
    init(status: Int, headers: OutboundHeaders, body: String, now: Int64) {
        if (300..<400).contains(status) {
            let target = headers["Location"].map { " to '\(redactedURL($0))'" } ?? ""
            self = .malformedReply("the hub redirects\(target); is the endpoint in the connection string right?")
            return
        }
        let error = ProtocolError(xml: body, status: status)
        let detail = error.map { OneLine.text($0.detail) } ?? ""
        self = .refused(
            status: status,
            code: error?.code ?? status,
            detail: detail.isEmpty ? "no reason given" : detail,
            retryAfter: headers.retryAfter(now: now)
        )
    }
}
