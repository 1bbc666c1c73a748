import Formats
import HubProtocol

/// A message in the form of FCM's retired interface, rewritten for v1.
///
/// Null counts as absent. Members that the retired interface ignored are ignored.
///
/// Source: Google, "Migrate from legacy FCM APIs to HTTP v1".
struct LegacyFcmMessage {
    private static let targets = ["to", "registration_ids", "condition", "notification_key"]
    /// Members of an Android notification, by their names in v1; others belong to iOS or to no device.
    private static let androidTexts = [
        "icon", "color", "sound", "tag", "click_action", "title_loc_key", "body_loc_key", "ticker",
    ]
    private static let androidLists = ["title_loc_args", "body_loc_args"]

    /// The members of `message` in v1.
    private(set) var message: JSONText.Members = []
    private(set) var isOnlyValidated = false

    private var android: JSONText.Members = []
    private var aps: JSONText.Members = []

    init(_ members: [JSONMember]) throws(BadPushMessage) {
        for name in Self.targets where members.node(name) != nil {
            throw BadPushMessage("the message has '\(name)': the hub adds the target; leave it out")
        }
        guard members.node("message") == nil else {
            throw BadPushMessage("the body has 'message', as in FCM v1: send it with the format fcmv1")
        }
        if let data = members.node("data") {
            guard let values = data.members else { throw BadPushMessage("'data' is not a JSON object") }
            let texts = values.filter { $0.value.content != .null }
            message.append(("data", JSONText(members: texts.map { ($0.name, Self.json($0.value)) })))
        }
        try readNotification(members.node("notification"))
        try readOptions(members)
        let priority = try Self.priority(members.node("priority"))
        android.append(("priority", JSONText(priority)))
        message.append(("android", JSONText(members: android).unlessEmpty))
        if !aps.isEmpty {
            let headers = priority.map { ["apns-priority": $0 == "HIGH" ? "10" : "5"] as JSONText }
            message.append(("apns", ["headers": headers, "payload": ["aps": JSONText(members: aps)]]))
        }
        message.append(("fcm_options", members.node("fcm_options").map { JSONText($0) }))
    }

    private mutating func readNotification(_ node: JSONNode?) throws(BadPushMessage) {
        guard let node else { return }
        guard let members = node.members else { throw BadPushMessage("'notification' is not a JSON object") }
        let texts = ["title", "body", "image"].map { (name: $0, value: members.node($0).map(Self.json)) }
        message.append(("notification", JSONText(members: texts).unlessEmpty))
        var own = Self.androidTexts.map { (name: $0, value: members.node($0).map(Self.json)) }
        let channel = members.node("android_channel_id") ?? members.node("channel_id")
        own.append(("channel_id", channel.map(Self.json)))
        for name in Self.androidLists {
            guard let value = members.node(name) else { continue }
            own.append((name, try Self.list(value, called: name)))
        }
        android.append(("notification", JSONText(members: own).unlessEmpty))
        // Android counts badges itself.
        if let badge = members.node("badge") {
            guard let number = badge.integer ?? badge.string.flatMap({ Int64($0) }) else {
                throw BadPushMessage("'notification.badge' is not a whole number")
            }
            aps.append(("badge", JSONText(number)))
        }
    }

    private mutating func readOptions(_ members: [JSONMember]) throws(BadPushMessage) {
        if let time = members.node("time_to_live") {
            guard let seconds = time.integer ?? time.string.flatMap({ Int64($0) }),
                (0...FcmMessage.maximumTimeToLive).contains(seconds)
            else { throw BadPushMessage("'time_to_live' is not a number of seconds from 0 to 2419200") }
            android.append(("ttl", JSONText("\(seconds)s")))
        }
        for name in ["collapse_key", "restricted_package_name"] {
            guard let value = members.node(name) else { continue }
            guard let text = value.string else { throw BadPushMessage("'\(name)' is not a string") }
            android.append((name, JSONText(text)))
        }
        for (name, option) in [("content_available", "content-available"), ("mutable_content", "mutable-content")]
        where try Self.isTrue(members.node(name), called: name) {
            aps.append((option, 1))
        }
        isOnlyValidated = try Self.isTrue(members.node("dry_run"), called: "dry_run")
    }

    // MARK: - Values

    /// Returns a string as it is, and any other value as JSON.
    private static func text(_ node: JSONNode) -> String { node.string ?? node.text }

    private static func json(_ node: JSONNode) -> JSONText { JSONText(text(node)) }

    /// Returns an array; the retired interface also accepted one that was written as a string.
    private static func list(_ node: JSONNode, called name: String) throws(BadPushMessage) -> JSONText {
        let list = node.string.flatMap { try? JSONReader.read(Array($0.utf8), allowsRepeats: true) } ?? node
        guard case .array(let elements) = list.content else {
            throw BadPushMessage("'notification.\(name)' is not an array")
        }
        return JSONText(array: elements.map(json))
    }

    private static func priority(_ node: JSONNode?) throws(BadPushMessage) -> String? {
        guard let node else { return nil }
        switch text(node).lowercased() {
        case "high", "10": return "HIGH"
        case "normal", "5": return "NORMAL"
        default: throw BadPushMessage("'priority' is not high or normal")
        }
    }

    private static func isTrue(_ node: JSONNode?, called name: String) throws(BadPushMessage) -> Bool {
        switch node.map(text) {
        case nil, "false", "0": return false
        case "true", "1": return true
        default: throw BadPushMessage("'\(name)' is not true or false")
        }
    }
}
