/// The kind of push service, or of connection, that reaches an installation.
///
/// Open vocabulary: an unknown name survives a round trip, spelled as it came; comparison ignores case, because the
/// clients spell `fcmV1` in three ways (protocol §4.2).
package struct Platform: RawRepresentable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// A subscriber agent or browser page on the hub's own event stream; unknown to Azure.
    package static let stream = Platform(rawValue: "stream")
    package static let apns = Platform(rawValue: "apns")
    package static let wns = Platform(rawValue: "wns")
    package static let mpns = Platform(rawValue: "mpns")
    package static let gcm = Platform(rawValue: "gcm")
    package static let fcmv1 = Platform(rawValue: "fcmv1")
    package static let adm = Platform(rawValue: "adm")
    package static let baidu = Platform(rawValue: "baidu")
    package static let browser = Platform(rawValue: "browser")
    package static let xiaomi = Platform(rawValue: "xiaomi")

    package static let known = PlatformDefinition.all.map(\.platform)

    /// The platform in lower case, as the hub stores and reports it.
    package var folded: Platform { Platform(rawValue: foldedName) }

    private var foldedName: String { rawValue.loweringCase }

    package var isKnown: Bool { PlatformDefinition.byPlatform[self] != nil }

    package var description: String { rawValue }

    /// The name that people read.
    package var label: String { PlatformDefinition.byPlatform[self]?.label ?? rawValue }

    /// True if templates of this platform are XML; all others are JSON objects.
    var takesXML: Bool { self == .wns || self == .mpns }
}

extension Platform: Hashable {
    package static func == (left: Platform, right: Platform) -> Bool {
        left.rawValue == right.rawValue || left.foldedName == right.foldedName
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(foldedName) }
}

extension Platform: Comparable {
    package static func < (left: Platform, right: Platform) -> Bool { left.foldedName < right.foldedName }
}

extension String {
    /// The text in lower case; nearly all names are written so already.
    var loweringCase: String { utf8.allSatisfy(\.hasNoCase) ? self : lowercased() }
}

extension UInt8 {
    /// True for characters of ASCII that lower case leaves as they are.
    fileprivate var hasNoCase: Bool { self < 128 && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
}
