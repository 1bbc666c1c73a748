import Formats
import Foundation
import HubProtocol

/// An inbox as JSON, for the hub's route and `newswire messages inbox`.
package struct InboxDocument: Sendable, Equatable, Codable {
    package struct Delivery: Sendable, Equatable, Codable {
        package let sequence: Int
        package let service: String
        package let handle: String
        /// ISO 8601 in milliseconds, UTC.
        package let receivedAt: String
        package let messageID: String
        package let headers: [HeaderLine]
        /// `nil` if the body is not UTF-8; then see ``bodyBase64``.
        package let body: String?
        package let bodyBase64: String?
        package let plaintext: String?
        package let plaintextBase64: String?
        /// True if the body was encrypted for keys other than those of the emulated browser.
        package let isUndecipherable: Bool?
        package let collapseKey: String?
        package let isReplaced: Bool
    }

    /// The handle of the request.
    package let handle: String
    /// Oldest first.
    package let deliveries: [Delivery]

    package init(handle: String, deliveries: [EmulatedDelivery]) {
        self.handle = handle
        self.deliveries = deliveries.map { Delivery($0) }
    }

    /// UTF-8; equal inboxes give equal bytes.
    package func encoded() throws -> [UInt8] { Array(try JSONEncoder.sorted.encode(self)) }

    package static func decode(_ bytes: [UInt8]) throws -> InboxDocument {
        try JSONReader.decode(InboxDocument.self, from: bytes)
    }
}

extension InboxDocument.Delivery {
    init(_ delivery: EmulatedDelivery) {
        sequence = delivery.sequence
        service = delivery.service.rawValue
        handle = delivery.handle
        receivedAt = ISODateTime.formatMilliseconds(delivery.receivedAt.date)
        messageID = delivery.messageID
        headers = delivery.headers
        (body, bodyBase64) = Self.text(delivery.body)
        switch delivery.plaintext {
        case .text(let bytes):
            (plaintext, plaintextBase64) = Self.text(bytes)
            isUndecipherable = nil
        case .undecipherable: (plaintext, plaintextBase64, isUndecipherable) = (nil, nil, true)
        case nil: (plaintext, plaintextBase64, isUndecipherable) = (nil, nil, nil)
        }
        collapseKey = delivery.collapseKey
        isReplaced = delivery.isReplaced
    }

    /// Bytes as text if they are UTF-8, otherwise in base64.
    private static func text(_ bytes: [UInt8]) -> (text: String?, base64: String?) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return (nil, Data(bytes).base64EncodedString())
        }
        return (text, nil)
    }
}
