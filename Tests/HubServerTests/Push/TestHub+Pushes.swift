import Foundation
import HubProtocol
import Testing

extension TestHub {
    /// Waits until something is so that the writer does not report; each look follows a request to the hub.
    func poll(until isSo: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while try await !isSo() {
            try #require(ContinuousClock.now < end)
            _ = try await send("GET", "registrations?$top=1", as: full)
        }
    }

    /// Sends a message to APNs handles directly.
    @discardableResult
    func sendBatch(_ count: Int, text: String = "x") async throws -> MessageID {
        let handles = (0..<count).map { "\"AA\(String(format: "%04d", $0))\"" }.joined(separator: ",")
        let disposition = "Content-Disposition: inline; name="
        let body =
            "--b\r\n\(disposition)notification\r\n\r\n{\"aps\":{\"alert\":\"\(text)\"}}\r\n"
            + "--b\r\n\(disposition)devices\r\n\r\n[\(handles)]\r\n--b--"
        return try await send(
            "POST",
            "messages/$batch?direct",
            as: full,
            headers: [HeaderName.format: "apple", "Content-Type": "multipart/mixed; boundary=b"],
            body
        ).messageID
    }
}
