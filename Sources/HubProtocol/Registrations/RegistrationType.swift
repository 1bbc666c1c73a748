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

    init(
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

    static let all = PlatformDefinition.all.flatMap(\.registrations)

    private static let roots: [String: (type: RegistrationType, isTemplate: Bool)] = Dictionary(
        uniqueKeysWithValues: all.flatMap { [($0.nativeRoot, ($0, false)), ($0.templateRoot, ($0, true))] }
    )

    /// The type whose description has this root.
    static func named(_ root: String) -> (type: RegistrationType, isTemplate: Bool)? { roots[root] }

    private static let spelled = Dictionary(
        uniqueKeysWithValues: all.filter { !$0.isFcm }.map { ($0.platform.rawValue, $0) }
    )

    /// The type in which a platform's registrations are written; `nil` for `stream`, and for platforms that this
    /// version does not know.
    static func of(_ platform: Platform, isFcm: Bool = false) -> RegistrationType? {
        if isFcm, platform == .gcm { return fcm }
        // Nearly all names are spelled our way; a comparison that ignores case takes four times as long.
        return spelled[platform.rawValue] ?? spelled[platform.folded.rawValue]
    }
}
