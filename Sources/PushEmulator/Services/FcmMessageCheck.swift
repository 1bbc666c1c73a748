import Formats
import HubProtocol

/// Checks the `message` of a send: field names, kinds of values, and one target.
enum FcmMessageCheck {
    struct Target {
        let id: String
        /// True for a topic or a condition.
        let isTopic: Bool
    }

    /// Four weeks, in seconds.
    private static let maximumTimeToLive: Double = 2_419_200

    private static let messageNames = [
        "name", "data", "notification", "android", "androidV2", "android_v2", "webpush", "apns", "fcm_options",
        "fcmOptions", "token", "topic", "condition", "fid",
    ]
    private static let androidNames = [
        "collapse_key", "collapseKey", "priority", "ttl", "restricted_package_name", "restrictedPackageName", "data",
        "notification", "fcm_options", "fcmOptions", "direct_boot_ok", "directBootOk", "bandwidth_constrained_ok",
        "bandwidthConstrainedOk", "restricted_satellite_ok", "restrictedSatelliteOk",
    ]

    static func check(_ message: JSONNode) throws(EmulatorReply) -> Target {
        try onlyKnown(messageNames, in: message, at: "message")
        try checkData(message["data"], at: "message.data")
        if let notification = try object("notification", in: message, at: "message") {
            try onlyKnown(["title", "body", "image"], in: notification, at: "message.notification")
            try onlyTexts(notification, at: "message.notification")
        }
        try checkAndroid(message)
        if let web = try object("webpush", in: message, at: "message") {
            for name in ["headers", "data"] {
                if let texts = try object(name, in: web, at: "message.webpush") {
                    try onlyTexts(texts, at: "message.webpush.\(name)")
                }
            }
        }
        if let apns = try object("apns", in: message, at: "message") {
            if let headers = try object("headers", in: apns, at: "message.apns") {
                try onlyTexts(headers, at: "message.apns.headers")
            }
            _ = try object("payload", in: apns, at: "message.apns")
        }
        return try target(message)
    }

    /// Returns the bytes of keys and values that count against the limit.
    static func size(of message: JSONNode) -> Int {
        let android = message["android"]
        let data = android?["data"] ?? message["data"]
        return [data, message["notification"], android?["notification"]].reduce(0) { $0 + ($1?.contentBytes ?? 0) }
    }

    static func onlyKnown(_ names: [String], in object: JSONNode, at path: String) throws(EmulatorReply) {
        for member in object.members ?? [] where !names.contains(member.name) {
            let field = path.isEmpty ? member.name : "\(path).\(member.name)"
            throw FcmRefusal.badRequest(
                String(field.prefix(200)),
                "Invalid JSON payload received. Unknown name \"\(member.name.prefix(100))\": Cannot find field."
            )
        }
    }

    private static func target(_ message: JSONNode) throws(EmulatorReply) -> Target {
        var targets: [Target] = []
        for name in ["token", "fid", "topic", "condition"] {
            guard let node = message[name] else { continue }
            guard let text = node.string, !text.isEmpty else { throw FcmRefusal.invalidHandle }
            targets.append(
                Target(id: name == "topic" ? "/topics/\(text)" : text, isTopic: ["topic", "condition"].contains(name))
            )
        }
        guard let target = targets.first, targets.count == 1 else {
            let text = "Recipient of the message is not set, or more than one is."
            throw FcmRefusal.invalidMessage(text)
        }
        return target
    }

    private static func checkAndroid(_ message: JSONNode) throws(EmulatorReply) {
        guard let android = try object("android", in: message, at: "message") else { return }
        try onlyKnown(androidNames, in: android, at: "message.android")
        try checkData(android["data"], at: "message.android.data")
        _ = try object("notification", in: android, at: "message.android")
        if let priority = android["priority"] {
            guard ["normal", "high"].contains(priority.string?.lowercased()) else {
                throw FcmRefusal.badRequest("message.android.priority", "Invalid value at 'message.android.priority'")
            }
        }
        if let collapse = android["collapse_key", "collapseKey"], collapse.string == nil {
            throw FcmRefusal.badRequest("message.android.collapse_key", "Invalid value (TYPE_STRING)")
        }
        if let time = android["ttl"] {
            guard let text = time.string, text.hasSuffix("s"), let first = text.utf8.first, 0x30...0x39 ~= first,
                let seconds = Double(text.dropLast()), (0...maximumTimeToLive).contains(seconds)
            else {
                throw FcmRefusal.badRequest(
                    "message.android.ttl",
                    "Invalid duration format or value: must be within four weeks"
                )
            }
        }
    }

    private static func checkData(_ data: JSONNode?, at path: String) throws(EmulatorReply) {
        guard let data else { return }
        try onlyTexts(data, at: path)
        for name in data.members?.map(\.name) ?? [] {
            let isReserved =
                ["from", "message_type", "gcm"].contains(name) || name.hasPrefix("google.")
                || name.hasPrefix("gcm.notification.")
            guard !isReserved else {
                throw FcmRefusal.invalidMessage("Invalid data payload key: \(name.prefix(100))")
            }
        }
    }

    private static func object(_ name: String, in parent: JSONNode, at path: String) throws(EmulatorReply) -> JSONNode?
    {
        guard let node = parent[name] else { return nil }
        guard node.members != nil else {
            throw FcmRefusal.badRequest("\(path).\(name)", "Invalid value at '\(path).\(name)' (Map expected)")
        }
        return node
    }

    private static func onlyTexts(_ object: JSONNode, at path: String) throws(EmulatorReply) {
        guard let members = object.members else {
            throw FcmRefusal.badRequest(path, "Invalid value at '\(path)' (Map expected)")
        }
        for member in members where member.value.string == nil {
            let field = String("\(path)[\(member.name)]".prefix(200))
            throw FcmRefusal.badRequest(field, "Invalid value at '\(field)' (TYPE_STRING)")
        }
    }
}
