import Formats
import HubProtocol

/// Messages that browsers can show without a service worker.
///
/// Source: W3C, "Push API" §declarative push message.
enum DeclarativePush {
    private static let marker = "web_push"
    /// Value of the marker: the number of the RFC.
    private static let magic: JSONText = 8030
    /// Members next to `notification`, not inside it.
    private static let outerMembers: Set<String> = ["app_badge", "mutable"]

    /// Returns a message with a title and an address to open in the declarative form, and any other message unchanged.
    static func wrap(_ body: [UInt8]) -> [UInt8] {
        guard let root = try? JSONReader.read(body, allowsRepeats: true), let members = root.members,
            root[marker] == nil
        else { return body }
        let whole: JSONText.Members
        if let notification = root["notification"] {
            guard isComplete(notification) else { return body }
            whole = members.json
        } else {
            guard isComplete(root) else { return body }
            let inner = members.filter { !outerMembers.contains($0.name) }.json
            let outer = members.filter { outerMembers.contains($0.name) }.json
            whole = [("notification", JSONText(members: inner))] + outer
        }
        return JSONText(members: [(marker, magic)] + whole).bytes
    }

    /// Returns the tag of a notification in the declarative form: a notification replaces the one with its tag.
    static func tag(of body: [UInt8]) -> String? {
        guard let root = try? JSONReader.read(body, allowsRepeats: true), root[marker] != nil else { return nil }
        return root["notification"]?["tag"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func isComplete(_ notification: JSONNode) -> Bool {
        ["title", "navigate"].allSatisfy { notification[$0]?.string?.isEmpty == false }
    }
}
