import HubProtocol

/// Messages that browsers can show without a service worker.
///
/// Source: W3C, "Push API" §declarative push message.
enum DeclarativePush {
    private static let marker = "web_push"
    /// Its value: the number of the RFC.
    private static let magic = "8030"
    /// Members beside `notification`, not in it.
    private static let outerMembers: Set<String> = ["app_badge", "mutable"]

    /// Returns the message in the form that browsers know, or as it is if it has no title and address to open, or has
    /// that form already.
    static func wrap(_ body: [UInt8]) -> [UInt8] {
        guard let root = try? JSONReader.read(body, allowsRepeats: true), let members = root.members,
            root[marker] == nil
        else { return body }
        let whole: [(name: String, value: String)]
        if let notification = root["notification"] {
            guard isComplete(notification) else { return body }
            whole = members.map { ($0.name, $0.value.text) }
        } else {
            guard isComplete(root) else { return body }
            let inner = members.filter { !outerMembers.contains($0.name) }.map { ($0.name, $0.value.text) }
            let outer = members.filter { outerMembers.contains($0.name) }.map { ($0.name, $0.value.text) }
            whole = [("notification", JSONText.object(inner))] + outer
        }
        return Array(JSONText.object([(marker, magic)] + whole).utf8)
    }

    private static func isComplete(_ notification: JSONNode) -> Bool {
        ["title", "navigate"].allSatisfy { notification[$0]?.string?.isEmpty == false }
    }
}
