import Formats
import HubProtocol

/// A message for FCM v1, without its target and its time to live.
struct FcmMessage: Sendable {
    /// Four weeks, in seconds.
    static let maximumTimeToLive: Int64 = 2_419_200
    /// Bytes of keys and values.
    private static let maximumSize = 4_096
    private static let targets = ["token", "fid", "topic", "condition"]
    private static let androidNames = ["android", "androidV2", "android_v2"]

    /// True if FCM only checks the message and delivers nothing.
    let isOnlyValidated: Bool
    /// The members of the message, without the options for Android.
    let members: JSONText.Members
    /// Name of the options for Android.
    let androidName: String
    /// The options for Android, without the time to live.
    let android: JSONText.Members
    /// Whole seconds; `nil` if the message does not say.
    let timeToLive: Int64?
    let collapseKey: String?

    /// Reads the body of a request to FCM v1 without a target.
    init(_ body: [UInt8]) throws(BadPushMessage) {
        let document = try Self.read(body)
        for name in document.map(\.name) where !["message", "validate_only", "validateOnly"].contains(name) {
            throw BadPushMessage("'\(name.excerpt)' is not part of an FCM v1 request: put it into 'message'")
        }
        guard let message = document.node("message") else {
            throw BadPushMessage("the body has no 'message', which must contain everything else in FCM v1")
        }
        guard let members = message.members else { throw BadPushMessage("'message' is not a JSON object") }
        let check = document.node("validate_only") ?? document.node("validateOnly")
        if let check, check.content != .bool(true), check.content != .bool(false) {
            throw BadPushMessage("'validate_only' is not true or false")
        }
        try self.init(message: members.filter { $0.value.content != .null }, isOnlyValidated: check?.isTrue ?? false)
    }

    /// Reads a body in the form of the retired interface.
    init(legacy body: [UInt8]) throws(BadPushMessage) {
        let legacy = try LegacyFcmMessage(try Self.read(body))
        let message = JSONText(members: legacy.message)
        guard let members = (try? JSONReader.read(message.bytes, allowsRepeats: true))?.members else {
            throw BadPushMessage("the body cannot be rewritten for FCM v1")
        }
        try self.init(message: members, isOnlyValidated: legacy.isOnlyValidated)
    }

    private init(message: [JSONMember], isOnlyValidated: Bool) throws(BadPushMessage) {
        for name in message.map(\.name) where Self.targets.contains(name) {
            throw BadPushMessage("the message has '\(name)': the hub adds the target; leave it out")
        }
        let options = message.filter { Self.androidNames.contains($0.name) }
        guard options.count <= 1 else { throw BadPushMessage("'android' and 'android_v2' cannot be used together") }
        let android = options.first?.value.members?.filter { $0.value.content != .null } ?? []
        androidName = options.first?.name ?? "android"
        guard options.first.map({ $0.value.members != nil }) ?? true else {
            throw BadPushMessage("'\(androidName)' is not a JSON object")
        }
        try Self.checkData(message.node("data"), at: "data")
        try Self.checkData(android.node("data"), at: "\(androidName).data")
        for (notification, path) in [
            (message.node("notification"), "notification"),
            (android.node("notification"), "\(androidName).notification"),
        ] where notification.map({ $0.members == nil }) ?? false {
            throw BadPushMessage("'\(path)' is not a JSON object")
        }
        if let key = android.node("collapse_key") ?? android.node("collapseKey") {
            guard let text = key.string else { throw BadPushMessage("'\(androidName).collapse_key' is not a string") }
            collapseKey = text.isEmpty ? nil : text
        } else {
            collapseKey = nil
        }
        if let time = android.node("ttl") {
            guard let seconds = time.string.flatMap(Self.seconds) else {
                throw BadPushMessage(
                    "'\(androidName).ttl' is not a number of seconds with an 's', from \"0s\" to \"2419200s\""
                )
            }
            timeToLive = seconds
        } else {
            timeToLive = nil
        }
        let counted = [
            android.node("data") ?? message.node("data"), message.node("notification"), android.node("notification"),
        ]
        let size = counted.reduce(0) { $0 + ($1?.contentBytes ?? 0) }
        guard size <= Self.maximumSize else {
            throw BadPushMessage(
                "keys and values of data and notification have \(size) bytes, and FCM accepts \(Self.maximumSize)",
                isTooLarge: true
            )
        }
        self.isOnlyValidated = isOnlyValidated
        members = message.filter { !Self.androidNames.contains($0.name) }.json
        self.android = android.filter { $0.name != "ttl" }.json
    }

    // MARK: - Checks

    private static func read(_ body: [UInt8]) throws(BadPushMessage) -> [JSONMember] {
        do {
            guard let members = try JSONReader.read(body).members else {
                throw BadPushMessage("the body is not a JSON object")
            }
            return members
        } catch let error as BadPushMessage {
            throw error
        } catch {
            throw BadPushMessage("the body is not JSON, or has a name twice in one object")
        }
    }

    private static func checkData(_ data: JSONNode?, at path: String) throws(BadPushMessage) {
        guard let data else { return }
        guard let members = data.members else { throw BadPushMessage("'\(path)' is not a JSON object") }
        for member in members {
            guard member.value.string != nil else {
                throw BadPushMessage("'\(path).\(member.name.excerpt)' is not a string, as all data for FCM must be")
            }
            let isReserved =
                ["from", "message_type", "gcm"].contains(member.name) || member.name.hasPrefix("google.")
                || member.name.hasPrefix("gcm.notification.")
            guard !isReserved else {
                throw BadPushMessage("'\(path).\(member.name.excerpt)' has a name that FCM reserves")
            }
        }
    }

    /// Reads a duration of Protocol Buffers in JSON, `3.5s`, rounded down as FCM does; `nil` for anything else, and for
    /// more than four weeks.
    private static func seconds(_ text: String) -> Int64? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...7).contains(parts[0].utf8.count), parts.allSatisfy(\.isDigits),
            parts.count == 1 || (1...9).contains(parts[1].utf8.count), let seconds = Int64(parts[0])
        else { return nil }
        let hasFraction = parts.count == 2 && parts[1].contains { $0 != "0" }
        return seconds < maximumTimeToLive || seconds == maximumTimeToLive && !hasFraction ? seconds : nil
    }
}

extension [JSONMember] {
    var json: JSONText.Members { map { ($0.name, JSONText($0.value)) } }

    /// The value of a member that is not null.
    func node(_ name: String) -> JSONNode? {
        first { $0.name == name && $0.value.content != .null }?.value
    }
}
