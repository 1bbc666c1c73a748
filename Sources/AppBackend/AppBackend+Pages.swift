package import HubProtocol
internal import Settings
import Signals
package import WebEdge

/// The operations that pages of the same process carry out for their users, with a token instead of an `Authorization`
/// header.
extension AppBackend {
    /// Exchanges a password for a token.
    ///
    /// `device` is the device's name in lists of tokens; `isKnownDevice` is true if the user has signed in on it before.
    ///
    /// - Throws: ``SignInRefusal``; a `DatabaseError` or `HostError` for failures of the server.
    package func logIn(
        name: String,
        password: String,
        device: String,
        isKnownDevice: Bool,
        _ client: WebClient
    ) async throws -> (token: String, caller: Caller) {
        guard let login = PasswordLogin(name: name, password: password) else { throw SignInRefusal.wrongCredentials }
        let issued = try await signIn.logIn(login, device: device, client.network, isKnownDevice: isKnownDevice)
        let token = issued.token.text
        return (token, try await caller(token: token, client))
    }

    /// The user that a token authenticates.
    ///
    /// - Throws: ``SignInRefusal/wrongToken`` if it is no longer valid; otherwise as
    ///   ``logIn(name:password:device:_:)``.
    package func caller(token: String, _ client: WebClient) async throws -> Caller {
        let caller = try await signIn.caller(authorization: "Bearer \(token)", network: client.network)
        if let channel = client.channel { configuration.onSignedIn(channel) }
        return caller
    }

    /// Revokes a token; a token that is no longer valid is not an error.
    package func logOut(token: String, _ client: WebClient) async throws {
        guard let token = AccessToken(token) else { return }
        do {
            try await signIn.logOut(token, client.network)
        } catch SignInRefusal.wrongToken {}
    }

    /// Registers an installation for a user.
    ///
    /// - Throws: ``BackendRefusal`` for a tag that the server assigns, and for failures of the hub.
    package func register(
        _ installation: Installation,
        of user: UserName,
        _ client: WebClient
    ) async throws {
        try devices.tags.check(installation)
        try await devices.put(installation, for: user, from: client.network)
    }

    /// Deletes an installation of a user; an installation of another user is kept.
    ///
    /// - Throws: ``BackendRefusal`` for failures of the hub.
    package func unregister(_ id: InstallationID, of user: UserName) async throws {
        try await devices.delete(id, for: user)
    }

    /// Deletes an installation of any user.
    ///
    /// - Throws: ``BackendRefusal`` for failures of the hub.
    package func unregister(_ id: InstallationID) async throws {
        let key = DeviceKey.installation(id)
        try await devices.turns.pass(key) { try await devices.erase(key) }
    }
}

// MARK: - Devices

/// A device of a user, with the facts that the hub reports.
package struct KnownDevice: Sendable {
    package let record: DeviceRecord
    /// The platform; `nil` if the hub no longer has the device.
    package let platform: Platform?
    /// The tags that the device has chosen.
    package let tags: [Tag]
}

extension AppBackend {
    /// The largest number of listed devices of a user; each is a call to the hub.
    private static let maximumListed = 100

    /// The devices of a user, most recently changed first.
    ///
    /// - Throws: ``BackendRefusal`` for failures of the hub.
    package func devices(of user: UserName) async throws -> [KnownDevice] {
        let own = try await devices.store.readDevices { try $0.devices(of: user.key) }.filter(\.isRegistered)
        var known: [KnownDevice] = []
        for device in own.suffix(Self.maximumListed).reversed() {
            known.append(try await inspect(device))
        }
        return known
    }

    private func inspect(_ device: RegisteredDevice) async throws -> KnownDevice {
        let found = try await devices.hubDevice(device.key)
        let chosen = (found?.tags ?? []).filter { !$0.isServerAssigned && !devices.tags.reserved.contains($0) }
        return KnownDevice(record: DeviceRecord(device), platform: found?.platform, tags: chosen)
    }

    /// Deletes a device of a user; a device of another user is kept.
    ///
    /// - Throws: ``BackendRefusal`` for failures of the hub.
    package func removeDevice(_ kind: DeviceRecord.Kind, _ id: String, of user: UserName) async throws {
        let key = DeviceKey(kind: kind == .registration ? .registration : .installation, id: id)
        try await devices.remove(key, of: user.key)
    }
}

// MARK: - Notifications

extension AppBackend {
    /// The names of all platforms on which users are notified.
    package static let platformNames = NotifiedPlatform.allCases.map(\.rawValue)

    /// True if every notification by name is a secure one.
    package var notifiesSecurely: Bool { configuration.notifications == .secure }

    /// Notifies a user by name on some platforms; this counts as one notification.
    ///
    /// - Throws: ``BackendRefusal`` for an invalid name or platform, for a caller who may not notify the user or does
    ///   so too often, and for a hub that does not report its platforms.
    package func notify(
        _ name: String,
        _ text: String,
        on platforms: [String],
        by caller: Caller,
        _ client: WebClient
    ) async throws -> [PlatformOutcome] {
        let chosen = try platforms.flatMap { name throws(BackendRefusal) in try PlatformChoice(pns: name).platforms }
        let addressee = try NotificationRoutes.addressee(name)
        // One call: if the hub failed between two calls, a retry would send the first part again.
        let sent = try await notify(addressee, text, on: .these(chosen), by: caller, client.network)
        return sent.outcomes(log: hubFailures)
    }

    /// Stores a text for a user by name, and sends the text's id on all platforms.
    ///
    /// - Throws: ``BackendRefusal`` as ``notify(_:_:on:by:_:)``, and for a text that the store does not accept.
    package func notifySecurely(
        _ name: String,
        _ text: String,
        by caller: Caller,
        _ client: WebClient
    ) async throws -> [PlatformOutcome] {
        let addressee = try NotificationRoutes.addressee(name)
        let sent = try await push(text, to: addressee, by: caller, client.network)
        return sent.outcomes(log: hubFailures)
    }

    /// Fetches the text of a secure notification.
    ///
    /// - Returns: `nil` if the user has no text with this id.
    /// - Throws: ``BackendRefusal`` for a user who has asked for too many ids that do not exist.
    package func securePayload(
        _ id: Int64,
        of user: UserName,
        _ client: WebClient,
        isRead: Bool
    ) async throws -> String? {
        try await fetchPayload(id, by: user, client.network, isRead: isRead)?.text
    }
}

// MARK: - Messages to a user

extension AppBackend {
    /// The tag by which a user is notified.
    package static func tag(of user: UserName) -> Tag { DeviceTags.tag(of: user) }

    /// The creation time of an account; earlier messages to its name were for another user.
    ///
    /// - Returns: `nil` if there is no such account.
    package func createdAt(of user: UserName) async throws -> Timestamp? {
        try await store.account(named: user)?.createdAt
    }

    /// True if there is such an account, and it may use the desk.
    package func mayUseDesk(_ user: UserName) async throws -> Bool {
        try await store.account(named: user)?.mayUseDesk ?? false
    }
}
