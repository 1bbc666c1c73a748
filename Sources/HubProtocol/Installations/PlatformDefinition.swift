/// The definitions of one platform in the protocol: a new push service is a new entry of ``all``.
///
/// Source: protocol §3.7 (registrations), §4.2 (platforms), §5.1 (formats, sizes), §5.6 (telemetry).
struct PlatformDefinition: Sendable {
    let platform: Platform
    /// The format of its native messages.
    let format: MessageFormat
    /// The beginning of the names of its elements in descriptions of hubs and in telemetry, such as `Apns`.
    let stem: String
    /// The name that people read.
    var label: String?
    /// The largest notification that the push service accepts, in bytes; `nil` where none is known.
    var maximumBytes: Int?
    var credential: CredentialDefinition?
    var registrations: [RegistrationType] = []

    /// In the order in which errors list them, and telemetry its counts.
    static let all = [
        PlatformDefinition(
            platform: .stream,
            format: .stream,
            stem: "Stream",
            label: "Agents and open pages (stream)"
        ),
        PlatformDefinition(
            platform: .apns,
            format: .apple,
            stem: "Apns",
            label: "Apple (apns)",
            maximumBytes: 4_096,
            credential: CredentialDefinition(
                settingsName: "apns",
                required: [["ApnsCertificate"], ["Token", "KeyId", "AppName", "AppId"]],
                secrets: [
                    ["ApnsCertificate", "CertificateKey", "Thumbprint"], ["Token", "KeyId", "AppName", "AppId"],
                ],
                sdkNames: [
                    "apnscertificate", "certificatekey", "endpoint", "thumbprint", "token", "keyid", "appname", "appid",
                ]
            ),
            registrations: [RegistrationType(.apns, "Apple", [.deviceToken], headers: .apnsHeaders)]
        ),
        PlatformDefinition(
            platform: .wns,
            format: .windows,
            stem: "Wns",
            label: "Windows (wns)",
            maximumBytes: 5_000,
            credential: CredentialDefinition(
                settingsName: "wns",
                required: [["PackageSid", "SecretKey"], ["ClientId", "TenantId", "SecretKey"]],
                secrets: [["SecretKey"]],
                sdkNames: ["packagesid", "secretkey", "windowsliveendpoint", "wnscertificate", "certificatekey"],
                audience: [["PackageSid"], ["ClientId", "TenantId"]]
            ),
            registrations: [
                RegistrationType(.wns, "Windows", [.channelURI], headers: .wnsHeaders, hasSecondaryTiles: true)
            ]
        ),
        PlatformDefinition(
            platform: .mpns,
            format: .windowsphone,
            stem: "Mpns",
            label: "Windows Phone (mpns)",
            maximumBytes: 3_072,
            credential: CredentialDefinition(
                secrets: [["MpnsCertificate", "CertificateKey"]],
                sdkNames: ["mpnscertificate", "certificatekey", "thumbprint"]
            ),
            registrations: [
                RegistrationType(.mpns, "Mpns", [.channelURI], headers: .mpnsHeaders, hasSecondaryTiles: true)
            ]
        ),
        PlatformDefinition(
            platform: .gcm,
            format: .gcm,
            stem: "Gcm",
            label: "Android, legacy (gcm)",
            maximumBytes: 4_096,
            credential: CredentialDefinition(
                required: [["GoogleApiKey"]],
                secrets: [["GoogleApiKey"]],
                sdkNames: ["gcmendpoint", "googleapikey"]
            ),
            registrations: [RegistrationType(.gcm, "Gcm", [.gcmRegistrationID]), .fcm]
        ),
        PlatformDefinition(
            platform: .fcmv1,
            format: .fcmv1,
            stem: "FcmV1",
            label: "Android (fcmv1)",
            maximumBytes: 4_096,
            credential: CredentialDefinition(
                settingsName: "fcm",
                required: [["ProjectId", "PrivateKey", "ClientEmail"]],
                secrets: [["PrivateKey"]],
                sdkNames: ["privatekey", "projectid", "clientemail"],
                audience: [["ProjectId"]]
            ),
            registrations: [RegistrationType(.fcmv1, "FcmV1", [.fcmV1RegistrationID])]
        ),
        PlatformDefinition(
            platform: .adm,
            format: .adm,
            stem: "Adm",
            maximumBytes: 6_144,
            credential: CredentialDefinition(
                required: [["ClientId", "ClientSecret"]],
                secrets: [["ClientSecret"]],
                sdkNames: ["clientid", "clientsecret", "authtokenurl", "sendurltemplate"]
            ),
            registrations: [RegistrationType(.adm, "Adm", [.admRegistrationID])]
        ),
        PlatformDefinition(
            platform: .baidu,
            format: .baidu,
            stem: "Baidu",
            credential: CredentialDefinition(
                required: [["BaiduApiKey", "BaiduSecretKey"]],
                secrets: [["BaiduSecretKey"]],
                sdkNames: ["baiduapikey", "baiduendpoint", "baidusecretkey"]
            ),
            registrations: [RegistrationType(.baidu, "Baidu", [.baiduUserID, .baiduChannelID])]
        ),
        PlatformDefinition(
            platform: .xiaomi,
            format: .xiaomi,
            stem: "Xiaomi",
            registrations: [RegistrationType(.xiaomi, "Xiaomi", [.xiaomiRegistrationID])]
        ),
        PlatformDefinition(
            platform: .browser,
            format: .browser,
            stem: "Browser",
            label: "Browsers (browser)",
            // The text before encryption.
            maximumBytes: 3_993,
            credential: CredentialDefinition(
                settingsName: "browser",
                required: [["Subject", "VapidPublicKey", "VapidPrivateKey"]],
                secrets: [["VapidPrivateKey", "FormerVapidPrivateKeys"]],
                sdkNames: ["subject", "vapidpublickey", "vapidprivatekey"]
            ),
            registrations: [RegistrationType(.browser, "Browser", [.endpoint, .p256dh, .auth])]
        ),
    ]

    static let byPlatform = Dictionary(uniqueKeysWithValues: all.map { ($0.platform, $0) })
    static let byFormat = Dictionary(uniqueKeysWithValues: all.map { ($0.format, $0) })
    static let byCredential = Dictionary(
        uniqueKeysWithValues: all.filter { $0.credential != nil }.map { ($0.credentialKind, $0) }
    )

    var credentialKind: PlatformCredential.Kind { PlatformCredential.Kind(element: stem + "Credential") }
}

/// The properties of a platform's credentials.
struct CredentialDefinition: Sendable {
    /// The name in a file of settings; `nil` for a push service to which this version does not deliver.
    var settingsName: String?
    /// The properties that the push service requires: all of one set.
    ///
    /// MPNS can do without any (.NET's documentation of `MpnsCredential`).
    var required: [[String]] = []
    /// The secrets, which an update may omit; a kind with two ways to authenticate has two sets, which are alternatives.
    let secrets: [[String]]
    /// The names that the SDKs of Azure know, in lower case.
    ///
    /// Descriptions omit other names: one makes the Java SDK fail to read all hubs of the namespace.
    ///
    /// Source: the models of the .NET, Java and JavaScript SDKs.
    let sdkNames: Set<String>
    /// The properties that name the app or project whose handles the credential reaches.
    ///
    /// The first alternative whose leading property is present counts, or else the last. APNs has a rule of its own.
    var audience: [[String]] = []
}
