import Formats
import HubClient
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
        var message = OutgoingMessage(Array(body(for: platform).utf8), format: platform.format)
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

    private func body(for platform: NotifiedPlatform) -> String {
        let member = #""\#(MessageProperty.secureID)":"\#(id)""#
        switch platform {
        case .apns:
            guard let alert else { return #"{"aps":{"content-available":1},\#(member)}"# }
            return #"{"aps":{"alert":\#(JSONText.string(alert)),"mutable-content":1},\#(member)}"#
        case .gcm: return #"{"data":{\#(member)}}"#
        // Otherwise Android may delay the message until the device is used.
        case .fcmv1: return #"{"message":{"data":{\#(member)},"android":{"priority":"high"}}}"#
        case .wns: return "\(id)"
        case .browser: return #"{"\#(MessageProperty.message)":\#(JSONText.string(notice)),\#(member)}"#
        case .stream: return "{\(member)}"
        }
    }
}
