import Formats
import NetworkAddresses

/// Rules for a push channel on one platform, the same for installations and registrations.
///
/// Source: protocol §3.8, §4.2; §11.1 for platform `stream`.
struct PlatformRules {
    let platform: Platform

    /// Returns the problem of a channel, without quoting it: it is an address that others must not learn.
    func problem(of channel: PushChannel) -> String? {
        switch (channel, platform) {
        case (.browser(let browser), .browser):
            guard Self.isURI(browser.endpoint, schemes: ["https"]) else { return "has no https 'endpoint'" }
            let limit = PushChannel.maximumLength
            guard [browser.endpoint, browser.p256dh, browser.auth].allSatisfy({ $0.utf8.count <= limit }) else {
                return "is longer than \(limit) bytes"
            }
            return Self.isBase64URL(browser.p256dh) && Self.isBase64URL(browser.auth)
                ? nil : "has a 'p256dh' or 'auth' that is not base64url"
        case (.handle, .browser): return "is not an object of endpoint, p256dh and auth"
        case (.browser, _): return "is an object, which only platform browser has"
        case (.handle(let text), _): return problem(ofHandle: text)
        }
    }

    private func problem(ofHandle text: String) -> String? {
        guard !text.isEmpty else { return "is empty" }
        guard text.utf8.count <= PushChannel.maximumLength else {
            return "is longer than \(PushChannel.maximumLength) bytes"
        }
        switch platform {
        case .apns:
            let isToken = text.isHexadecimal && text.utf8.count.isMultiple(of: 2)
            return isToken ? nil : "is not an even number of hexadecimal digits"
        case .wns, .mpns:
            return Self.isAbsoluteURI(text) ? nil : "is not an absolute URI"
        case .stream:
            return (try? PushChannelSecret(text)) == nil
                ? "is not \(PushChannelSecret.length) characters of base64url" : nil
        case .baidu where !Self.isPair(text):
            return "is not a user id and a channel id, joined by '-'"
        default:
            return text.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F }
                ? "contains a space or a control character" : nil
        }
    }

    private static func isPair(_ text: String) -> Bool {
        text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(\.isEmpty) == [false, false]
    }

    /// True for a URI of any scheme, with or without a host.
    private static func isAbsoluteURI(_ text: String) -> Bool {
        let scheme = text.prefix { $0 != ":" }
        if ["https", "http"].contains(scheme.lowercased()) { return isURI(text, schemes: ["https", "http"]) }
        guard scheme.utf8.first?.isASCIILetter == true, scheme.hasOnlyLettersAndDigits(or: "+-."),
            scheme.utf8.count + 1 < text.utf8.count
        else { return false }
        return text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    private static func isURI(_ text: String, schemes: [String]) -> Bool {
        guard let parts = URLParts(text), schemes.contains(parts.scheme), !parts.authority.isEmpty else { return false }
        return text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    private static func isBase64URL(_ text: String) -> Bool {
        !text.isEmpty && text.hasOnlyLettersAndDigits(or: "-_+/=")
    }
}

/// Rules for all tags of one target together.
///
/// Source: protocol §3.8.
enum TagRules {
    /// Checks all tags; those that name an installation or a user are the hub's own and do not count, so that exports
    /// can be imported.
    static func check(_ all: [Tag], maximum: Int, at label: String, _ problems: inout ProblemList) {
        let tags = all.filter { !$0.isServerAssigned }
        if tags.count > maximum, Set(tags).count > maximum {
            problems.add("\(label): more than \(maximum) tags")
        }
        let length = tags.reduce(max(0, tags.count - 1)) { $0 + $1.text.unicodeScalars.count }
        if length > Installation.maximumTagsLength {
            problems.add("\(label): the tags together are longer than \(Installation.maximumTagsLength) characters")
        }
    }
}

/// Rules for a device's own values of template properties.
///
/// A name that no template can write is harmless.
enum PushVariableRules {
    static func check(_ variables: [String: String], at label: String, _ problems: inout ProblemList) {
        if variables.count > Installation.maximumPushVariables {
            problems.add("there are more than \(Installation.maximumPushVariables) \(label)")
        }
        if variables.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) > Installation.maximumVariableBytes {
            problems.add("\(label) together are longer than \(Installation.maximumVariableBytes) bytes")
        }
        for name in variables.keys.sorted() { NameRules.check(name, at: label, &problems) }
    }
}

/// Rules for the names that a client gives to templates, tiles and push variables.
enum NameRules {
    /// Notes a name with a control character: SQLite ends texts at a NUL, and logs and lists end lines at others.
    static func check(_ name: String, at label: String, _ problems: inout ProblemList) {
        guard let control = name.unicodeScalars.first(where: \.isControl) else { return }
        problems.add("\(label): a name must not contain a control character, here \(control.named)")
    }
}

extension Unicode.Scalar {
    /// True for C0, delete and C1.
    var isControl: Bool { properties.generalCategory == .control }
}
