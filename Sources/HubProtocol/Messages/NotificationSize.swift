/// The largest notifications that push services take.
///
/// A hub accepts what is larger, up to its own limit, as the service does, and reports `InvalidNotificationSize` for it:
/// refusing it would also keep a message from the platforms that take it.
///
/// Source: protocol §5.1; `docs/push-services.md`, Limits.
package enum NotificationSize {
    /// In bytes; `nil` where none is known.
    ///
    /// Android's 4,096 bytes, and Apple's, are those of the message itself; a browser's are of the text before its
    /// encryption.
    package static func limit(for format: MessageFormat, headers: ForwardedHeaders = .none) -> Int? {
        switch format {
        case .apple: headers["apns-push-type"]?.lowercased() == "voip" ? 5_120 : 4_096
        case .gcm, .fcmv1: 4_096
        case .windows: 5_000
        case .windowsphone: 3_072
        case .adm: 6_144
        case .browser: 3_993
        default: nil
        }
    }

    /// The limit that a body is above; `nil` if it is not.
    package static func exceeded(by body: [UInt8], _ format: MessageFormat, _ headers: ForwardedHeaders) -> Int? {
        limit(for: format, headers: headers).flatMap { body.count > $0 ? $0 : nil }
    }
}
