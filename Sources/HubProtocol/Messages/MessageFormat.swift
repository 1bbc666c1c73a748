/// The value of `ServiceBusNotification-Format`: the format of a message's body.
///
/// Open vocabulary, compared ignoring case (protocol §5.1).
package struct MessageFormat: RawRepresentable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Properties that each recipient's own template renders; also what an absent header means.
    package static let template = MessageFormat(rawValue: "template")
    /// Native to the hub's own event stream; unknown to Azure.
    package static let stream = MessageFormat(rawValue: "stream")
    package static let apple = MessageFormat(rawValue: "apple")
    package static let windows = MessageFormat(rawValue: "windows")
    package static let windowsphone = MessageFormat(rawValue: "windowsphone")
    package static let gcm = MessageFormat(rawValue: "gcm")
    package static let fcmv1 = MessageFormat(rawValue: "fcmv1")
    package static let adm = MessageFormat(rawValue: "adm")
    package static let baidu = MessageFormat(rawValue: "baidu")
    package static let browser = MessageFormat(rawValue: "browser")
    package static let xiaomi = MessageFormat(rawValue: "xiaomi")

    package static let known = [.template] + PlatformDefinition.all.map(\.format)

    package var isKnown: Bool { Self.known.contains(self) }

    /// The platform whose native registrations a message of this format reaches; `nil` for templates and unknown ones.
    package var platform: Platform? { PlatformDefinition.byFormat[self]?.platform }

    /// The format of a platform's native messages, by which telemetry names the platform; an unknown one keeps its
    /// name.
    package init(of platform: Platform) {
        self = PlatformDefinition.byPlatform[platform]?.format ?? MessageFormat(rawValue: platform.rawValue)
    }

    package var description: String { rawValue }
}

extension MessageFormat: Hashable {
    package static func == (left: MessageFormat, right: MessageFormat) -> Bool {
        left.rawValue == right.rawValue || left.rawValue.loweringCase == right.rawValue.loweringCase
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue.loweringCase) }
}
