import Formats
import HubProtocol

/// A text from one user to another, in the formats of the tutorials' server.
///
/// Source: protocol §9; the JSON for browsers and agents has the members that agents know.
struct TextNotification: Sendable {
    let sender: UserName
    let text: String

    /// The line that names the sender; a user name cannot contain characters that would imitate this line.
    private var line: String { "From \(sender.text): \(text)" }

    func message(for platform: NotifiedPlatform) -> OutgoingMessage {
        OutgoingMessage(Array(body(for: platform).utf8), format: platform.format)
    }

    private func body(for platform: NotifiedPlatform) -> String {
        let line = JSONText(line)
        let body: JSONText
        switch platform {
        case .apns: body = ["aps": ["alert": line]]
        case .gcm: body = ["data": ["message": line]]
        case .fcmv1: body = ["message": ["data": ["message": line]]]
        case .wns:
            let text = XMLText.escaped(self.line)
            return """
                <toast><visual><binding template="ToastText01"><text id="1">\(text)</text></binding></visual></toast>
                """
        case .browser, .stream: body = ["\(MessageProperty.message)": line]
        }
        return body.text
    }
}
