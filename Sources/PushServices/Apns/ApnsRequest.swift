import Foundation
import HubProtocol

/// A message for one device token.
struct ApnsRequest: Sendable {
    /// The device token in lower case.
    let device: String
    /// Headers that requests for other devices have as well.
    let commonHeaders: [(name: String, value: String)]
    /// Headers of this request alone.
    var ownHeaders: [(name: String, value: String)] = []
    let body: [UInt8]
    /// True if the topic is the bundle id.
    let isOwnTopic: Bool
}

extension ApnsRequest {
    /// - Throws: The outcome of a message that cannot be sent to the target.
    init(_ message: ApnsMessage, to target: PushTarget) throws(ServiceChannel.NoAnswer) {
        guard case .handle(let handle) = target.channel else {
            throw Self.unsendable("a browser's subscription is not a device token")
        }
        let token = handle.lowercased()
        guard (2...200).contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
            token.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            throw Self.unsendable("the handle is not a device token: 2 to 200 hexadecimal digits")
        }
        self.init(device: token, commonHeaders: message.headers, body: message.body, isOwnTopic: message.isOwnTopic)
        ownHeaders.append(("apns-id", target.id.lowercasedText))
        switch (message.lifetime, target.expiresAt) {
        case (.once, _): ownHeaders.append(("apns-expiration", "0"))
        case (_, let end?): ownHeaders.append(("apns-expiration", "\(max(end.seconds, 1))"))
        case (_, nil): break
        }
    }

    private static func unsendable(_ reason: String) -> ServiceChannel.NoAnswer {
        ServiceChannel.NoAnswer(outcome: .unsendable(reason))
    }
}

extension UUID {
    /// The canonical form in lower case (RFC 9562 §4); Foundation makes it in upper case, which takes two more copies.
    fileprivate var lowercasedText: String {
        withUnsafeBytes(of: uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var end = 0
                func append(_ byte: UInt8) {
                    text[end] = byte
                    end += 1
                }
                func append(digit: UInt8) { append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)) }
                for (place, byte) in bytes.enumerated() {
                    if place == 4 || place == 6 || place == 8 || place == 10 { append(UInt8(ascii: "-")) }
                    append(digit: byte >> 4)
                    append(digit: byte & 0xF)
                }
                return end
            }
        }
    }
}
