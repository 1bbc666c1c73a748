import Foundation
import HubProtocol
import PushEmulator
import Testing

/// A platform that the hub delivers to, by the name of its format.
enum EmulatedPlatform: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case apple, fcmv1, gcm, windows, browser

    /// Seconds that a message is kept if it does not say.
    private static let timeToLive: Int64 = 72 * 3_600

    var testDescription: String { rawValue }

    var platform: Platform {
        switch self {
        case .apple: .apns
        case .fcmv1: .fcmv1
        case .gcm: .gcm
        case .windows: .wns
        case .browser: .browser
        }
    }

    /// A message in the platform's own form.
    var body: String { text("Flood") }

    var template: InstallationTemplate {
        InstallationTemplate(body: text("$(title)"), headers: self == .windows ? ["X-WNS-Type": "wns/toast"] : [:])
    }

    private func text(_ title: String) -> String {
        switch self {
        case .apple: #"{"aps":{"alert":"\#(title)"}}"#
        case .fcmv1: #"{"message":{"data":{"title":"\#(title)"}}}"#
        case .gcm: #"{"data":{"title":"\#(title)"}}"#
        case .windows:
            #"<toast><visual><binding template="ToastText01"><text id="1">\#(title)</text></binding></visual></toast>"#
        case .browser: #"{"title":"\#(title)"}"#
        }
    }

    /// A device; its name may begin with the word of a fault.
    func channel(_ name: String, _ emulator: PushEmulator) -> PushChannel {
        switch self {
        case .apple: .handle(Self.token(name))
        case .fcmv1, .gcm: .handle(name)
        case .windows: .handle(emulator.channelURI(name))
        case .browser: .browser(emulator.makeBrowserSubscription(prefix: name + "-"))
        }
    }

    /// Faults as `docs/push-emulator.md` has them for tokens; any other name in hexadecimal digits.
    private static func token(_ name: String) -> String {
        let marks = [
            "dead": "fa17dead", "malformed": "fa17bad0", "throttled-1": "fa17042901", "unavailable-1": "fa17050301",
            "badcredential": "fa170403", "wrongtopic": "fa170400", "dropped": "fa170200",
        ]
        return marks[name].map { $0 + "00" } ?? name.utf8.map { String(format: "%02x", $0) }.joined()
    }

    /// The body of the request to the push service, or what the browser decrypts.
    func delivered(to channel: PushChannel) -> String {
        switch self {
        case .apple, .windows, .browser: body
        case .fcmv1, .gcm:
            #"{"message":{"token":"\#(channel.handle)","data":{"title":"Flood"},"android":{"ttl":"\#(Self.timeToLive)s"}}}"#
        }
    }

    /// Headers of the request that the hub chooses; those that differ each time are left out.
    func headers(acceptedAt: Date) -> [String: String] {
        switch self {
        case .apple:
            [
                "apns-topic": EmulatedHub.bundle, "apns-push-type": "alert", "apns-priority": "10",
                "apns-expiration": "\(Timestamp(acceptedAt).seconds + Self.timeToLive)",
            ]
        case .fcmv1, .gcm: ["content-type": "application/json"]
        case .windows: ["x-wns-type": "wns/toast", "content-type": "text/xml", "x-wns-ttl": "\(Self.timeToLive)"]
        case .browser:
            [
                "ttl": "\(Self.timeToLive)", "content-encoding": "aes128gcm",
                "content-type": "application/octet-stream",
            ]
        }
    }

    /// The names of what a message says by itself: nothing else of these goes out.
    var ownHeaders: [String] {
        switch self {
        case .apple: ["apns-"]
        case .windows: ["x-wns-"]
        case .fcmv1, .gcm: []
        case .browser: ["ttl", "urgency", "content-encoding"]
        }
    }
}

extension EmulatedDelivery {
    /// What the device gets to read.
    var message: String {
        if case .text(let bytes)? = plaintext { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: body, as: UTF8.self)
    }

    var headerValues: [String: String] { headers.reduce(into: [:]) { $0[$1.name] = $1.value } }
}
