/// The name of a registration's description on the wire, and the elements that hold its push handle.
///
/// Source: protocol §3.7.
struct RegistrationType: Sendable {
    let platform: Platform
    /// `Apple` of `AppleRegistrationDescription` and `AppleTemplateRegistrationDescription`.
    let stem: String
    /// In the order of output.
    let handleFields: [RegistrationField]
    /// The element that contains a template's headers.
    var headerField: RegistrationField?
    var hasSecondaryTiles = false
    let nativeRoot: String
    let templateRoot: String

    private init(
        _ platform: Platform,
        _ stem: String,
        _ handleFields: [RegistrationField],
        headers: RegistrationField? = nil,
        hasSecondaryTiles: Bool = false
    ) {
        self.platform = platform
        self.stem = stem
        self.handleFields = handleFields
        headerField = headers
        self.hasSecondaryTiles = hasSecondaryTiles
        nativeRoot = stem + Self.nativeEnd
        templateRoot = stem + "Template" + Self.nativeEnd
    }

    /// The name of the base type, which clients send with the kind in `i:type`.
    static let base = "RegistrationDescription"
    private static let nativeEnd = base

    var isFcm: Bool { stem == Self.fcm.stem }

    static let fcm = RegistrationType(.gcm, "Fcm", [.fcmRegistrationID])

    /// The types in which platforms are written, and ``fcm``.
    static let all = [
        RegistrationType(.apns, "Apple", [.deviceToken], headers: .apnsHeaders),
        RegistrationType(.gcm, "Gcm", [.gcmRegistrationID]),
        fcm,
        RegistrationType(.fcmv1, "FcmV1", [.fcmV1RegistrationID]),
        RegistrationType(.wns, "Windows", [.channelURI], headers: .wnsHeaders, hasSecondaryTiles: true),
        RegistrationType(.mpns, "Mpns", [.channelURI], headers: .mpnsHeaders, hasSecondaryTiles: true),
        RegistrationType(.adm, "Adm", [.admRegistrationID]),
        RegistrationType(.baidu, "Baidu", [.baiduUserID, .baiduChannelID]),
        RegistrationType(.browser, "Browser", [.endpoint, .p256dh, .auth]),
        RegistrationType(.xiaomi, "Xiaomi", [.xiaomiRegistrationID]),
    ]

    private static let roots: [String: (type: RegistrationType, isTemplate: Bool)] = Dictionary(
        uniqueKeysWithValues: all.flatMap { [($0.nativeRoot, ($0, false)), ($0.templateRoot, ($0, true))] }
    )

    /// The type whose description has this root.
    static func named(_ root: String) -> (type: RegistrationType, isTemplate: Bool)? { roots[root] }

    private static let platforms: [Platform: RegistrationType] = Dictionary(
        all.map { ($0.platform, $0) },
        uniquingKeysWith: { first, _ in first }
    )
    private static let spelled = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key.rawValue, $0.value) })

    /// The type in which a platform's registrations are written; `nil` for `stream`, and for platforms that this
    /// version does not know.
    static func of(_ platform: Platform, isFcm: Bool = false) -> RegistrationType? {
        if isFcm, platform == .gcm { return fcm }
        // Nearly all names are spelled our way; a comparison that ignores case takes four times as long.
        return spelled[platform.rawValue] ?? platforms[platform]
    }
}
