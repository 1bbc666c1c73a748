import Formats
import HubProtocol

/// A push that carries the id of a payload, and shows nothing on platforms that allow that.
///
/// The id is a string, because the tutorials' clients read it with `intValue`.
///
/// Source: protocol §9; Apple's "Pushing background updates to your App".
struct SecureNotification: Sendable {
    let id: Int64
    /// The text of an alert on Apple devices; `nil` for a silent push.
    let alert: String?
    /// The text for browsers, which must show a notification.
    let notice: String

    func message(for platform: NotifiedPlatform) -> OutgoingMessage {
        var message = OutgoingMessage(body(for: platform).bytes, format: platform.format)
        switch platform {
        // Apple refuses background pushes with another priority.
        case .apns where alert == nil:
            message.headers = [("apns-push-type", "background"), ("apns-priority", "5")]
        case .apns: message.headers = [("apns-push-type", "alert"), ("apns-priority", "10")]
        case .wns: message.headers = [("X-WNS-Type", "wns/raw")]
        case .gcm, .fcmv1, .browser, .stream: break
        }
        return message
    }

    private func body(for platform: NotifiedPlatform) -> JSONText {
        let (name, id) = ("\(MessageProperty.secureID)", JSONText("\(id)"))
        let aps: JSONText = alert.map { ["alert": JSONText($0), "mutable-content": 1] } ?? ["content-available": 1]
        return switch platform {
        case .apns: ["aps": aps, name: id]
        case .gcm: ["data": [name: id]]
        // Otherwise Android may delay the message until the device is used.
        case .fcmv1: ["message": ["data": [name: id], "android": ["priority": "high"]]]
        case .wns: JSONText(self.id)
        case .browser: ["\(MessageProperty.message)": JSONText(notice), name: id]
        case .stream: [name: id]
        }
    }
}
