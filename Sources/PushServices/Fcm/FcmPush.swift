import Formats
import HubProtocol

/// A message for FCM, complete except for the token and the time to live.
struct FcmPush: PreparedPush {
    let lifetime: PushLifetime
    let collapseKey: String?

    private let ownExpiry: Timestamp?
    /// The text before the token: `{"message":{"token":`.
    private let opening: [UInt8]
    /// The text from the token to the end.
    private let rest: [UInt8]
    /// The text from the token to the value of `ttl`.
    private let restUpToTime: [UInt8]

    private static let endAfterTime = Array("s\"}}}".utf8)

    init(_ message: FcmMessage, acceptedAt: Timestamp) {
        collapseKey = message.collapseKey
        ownExpiry = message.timeToLive.map { acceptedAt + .seconds($0) }
        lifetime = PushLifetime(seconds: message.timeToLive, from: acceptedAt)
        opening = Array("{\(message.isOnlyValidated ? "\"validate_only\":true," : "")\"message\":{\"token\":".utf8)
        // Bytes that are ready around the token, since the message is sent to many devices.
        let inner = JSONText(members: message.members).text.dropFirst().dropLast()
        let members = inner.isEmpty ? "" : ",\(inner)"
        let android = JSONText(members: message.android).text.dropFirst().dropLast()
        let options = ",\(JSONText(message.androidName)):{\(android)"
        rest = Array("\(members)\(android.isEmpty ? "" : options + "}")}}".utf8)
        restUpToTime = Array("\(members)\(options)\(android.isEmpty ? "" : ",")\"ttl\":\"".utf8)
    }

    static func flaw(of token: String) -> String? {
        if token.isEmpty { return "the registration token is empty" }
        if token.utf8.count > PushChannel.maximumLength {
            return "the registration token is longer than \(PushChannel.maximumLength) bytes"
        }
        let hasControl = token.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return hasControl ? "the registration token has control characters" : nil
    }

    func body(_ token: String, expiresAt: Timestamp?, now: Timestamp) -> [UInt8] {
        let start = opening + JSONText(token).bytes
        guard let end = [ownExpiry, expiresAt].compactMap({ $0 }).min() else { return start + rest }
        let seconds = min(end.wholeSeconds(after: now), FcmMessage.maximumTimeToLive)
        return start + restUpToTime + Array("\(seconds)".utf8) + Self.endAfterTime
    }
}

extension Timestamp {
    /// Seconds until the time, rounded up; zero once it has passed.
    func wholeSeconds(after now: Timestamp) -> Int64 {
        guard self > now else { return 0 }
        let (milliseconds, isOutside) = milliseconds.subtractingReportingOverflow(now.milliseconds)
        return isOutside ? .max / 1_000 : (milliseconds - 1) / 1_000 + 1
    }
}
