import Foundation
import HubProtocol
import HubRouting
import HubStore

// MARK: - Installations of push platforms

extension DeviceLookup {
    func pushReport(_ device: FormerInstallation, _ then: Installation, _ name: String) async throws -> DeviceReport {
        let found = try await parts(of: device, then)
        let registrations = found.map { judge.report($0) }
        let recipient = try Recipient(then)
        let templates = recipient.targets.map { template($0, of: recipient) }
        var report: DeviceReport
        if let meant = zip(found, registrations).first(where: { $1.matches }) {
            let (outcome, reason) = try await fate(of: meant.0.ordinal, on: platform(of: meant.1), name)
            report = answer(device, then, outcome, [reason])
        } else {
            // Agents get reports on their templates; other devices get them on their registrations.
            let mismatch =
                isAboutTemplates && registrations.allSatisfy { $0.tile == nil }
                ? templates.mismatch(tags: then.tags, judge) : reasons(registrations)
            report = answer(device, then, .notMatched, ["\(name) did not get it: \(mismatch)"])
        }
        report.registrations = registrations
        report.platform = then.platform
        if routed.format == .template { report.templates = templates }
        report.explanation += try remarks(on: registrations)
        report.explanation += remarks(report, recipient, nil)
        return report
    }

    private var isAboutTemplates: Bool { routed.format == .template && routed.installations == nil }

    /// The registrations of an installation when the message was accepted.
    private func parts(of device: FormerInstallation, _ then: Installation) async throws -> [FoundRegistration] {
        let current = device.current.installation
        let stored = try await hub.store.registrations(ofInstallation: device.current.ordinal)
        return then.parts.map { part in
            let today = stored.first { $0.installation?.part == part }
            let tags = then.tags(of: part)
            let tagsNow = current.tags(of: part)
            let channel = part.tile.map { then.secondaryTiles[$0]?.pushChannel } ?? then.pushChannel
            return FoundRegistration(
                id: today?.registration.id,
                platform: then.platform,
                template: part.template,
                tile: part.tile,
                installation: then.id,
                ordinal: today?.ordinal,
                handle: channel?.handle,
                tags: tags,
                tagsNow: today == nil || tagsNow == tags ? nil : tagsNow
            )
        }
    }

    /// The outcome of the message at a registration or handle that it was for.
    private func fate(
        of target: Ordinal?,
        on platform: Platform,
        _ name: String
    ) async throws -> (DeviceOutcome, reason: String) {
        let key = DeliveryKey(sequence: message.logged.sequence, platform: platform)
        guard let target else {
            return (.notDelivered, "\(name) did not get it: the registration that the message was for no longer exists")
        }
        switch try await hub.store.targetState(of: target, in: key) {
        case nil:
            return (
                .notDelivered,
                """
                \(name) did not get it: it matches and was counted, but this hub had no credential for platform \
                '\(platform)' when the message came
                """
            )
        case .failed(let failure):
            return (.notDelivered, "\(name) did not get it: \(failure.outcome): \(failure.reason)")
        case .waits(let retry?) where retry.host != nil:
            return (
                .pending,
                "\(name) has not got it yet: it waits until '\(retry.host ?? "")' accepts messages (\(retry.reason))"
            )
        case .waits(let retry?) where retry.attempts == 0:
            return (
                .pending,
                "\(name) has not got it yet: \(retry.reason); the next attempt is due at \(retry.dueAt.wholeSecond)"
            )
        case .waits(let retry?):
            return (
                .pending,
                """
                \(name) has not got it yet: attempt \(retry.attempts) failed (\(retry.reason)); the next one is due at \
                \(retry.dueAt.wholeSecond)
                """
            )
        case .waits(nil): return (.pending, "\(name) has not got it yet: it is waiting for its turn")
        case .ended: return (.sent, "the push service of \(name) has accepted it")
        }
    }

    /// The reasons why several registrations did not get the message.
    private func reasons(_ registrations: [RegistrationReport]) -> String {
        guard registrations.count > 1 else { return registrations.first?.reason ?? "it has no registration" }
        return registrations.prefix(RegistrationJudge.maximumNamed).map { registration in
            let kind = registration.template.map { "template '\($0)'" } ?? "native registration"
            let tile = registration.tile.map { " of the tile '\($0)'" } ?? ""
            return "for its \(kind)\(tile) \(registration.reason)"
        }.joined(separator: "; ")
    }

    private func remarks(on registrations: [RegistrationReport]) throws -> [String] {
        guard let meant = registrations.first(where: \.matches) else { return [] }
        return try judge.excess(on: platform(of: meant)).map { [$0] } ?? []
    }

    /// The platform that the message is sent to: for a direct send, that of its format, whatever the handle is
    /// registered for.
    private func platform(of meant: RegistrationReport) -> Platform { routed.format.platform ?? meant.platform }
}

// MARK: - Handles

extension DeviceLookup {
    /// Maximum number of registrations of one handle to check: a device has a few, but any client can create more.
    static let maximumOfHandle = 100

    /// Reports why the registrations of a push handle got a message, or did not.
    ///
    /// - Returns: `nil` if the hub does not know the handle.
    func report(handle: String) async throws -> DeviceReport? {
        let sequence = message.logged.sequence
        let current = try await hub.store.registrations(
            hub: hub.record.id,
            handle: handle,
            limit: Self.maximumOfHandle
        ) { $0.registration.platform != .stream }.found
        let former = try await hub.store.formerRegistrations(
            hub: hub.record.id,
            handle: handle,
            at: sequence,
            limit: Self.maximumOfHandle
        )
        var found: [FoundRegistration] = former.map { former in
            let today = current.first { $0.ordinal == former.ordinal }?.registration
            var found = FoundRegistration(former.registration, installation: nil, ordinal: former.ordinal)
            found.tagsNow = today.flatMap { $0.tags == former.registration.tags ? nil : $0.tags }
            return found
        }
        for stored in current where stored.installation == nil && stored.changedAfter < sequence {
            found.append(FoundRegistration(stored.registration, installation: nil, ordinal: stored.ordinal))
        }
        for id in Set(current.compactMap { $0.installation?.id }) {
            found += try await parts(of: id, withHandle: handle)
        }
        let name = "device '\(handle.excerpt)'"
        let make = { (outcome: DeviceOutcome, reason: String) in
            DeviceReport(id: handle, outcome: outcome, explanation: [reason])
        }
        guard found.isEmpty else {
            let registrations = found.map { judge.report($0) }
            var report: DeviceReport
            if let direct = try await fateOfDirect(handle, name) {
                report = make(direct.0, direct.reason)
            } else if let meant = zip(found, registrations).first(where: { $1.matches }) {
                let (outcome, reason) = try await fate(of: meant.0.ordinal, on: platform(of: meant.1), name)
                report = make(outcome, reason)
            } else {
                report = make(.notMatched, "\(name) did not get it: \(reasons(registrations))")
            }
            report.registrations = registrations
            report.platform = found[0].platform
            report.explanation += try remarks(on: registrations)
            if max(current.count, former.count) == Self.maximumOfHandle {
                report.explanation.append(
                    "it has many registrations; only the first \(Self.maximumOfHandle) of them were examined"
                )
            }
            return report
        }
        if let direct = try await fateOfDirect(handle, name), let platform = routed.format.platform {
            var report = make(direct.0, direct.reason)
            report.platform = platform
            report.explanation += try judge.excess(on: platform).map { [$0] } ?? []
            return report
        }
        guard !current.isEmpty else { return nil }
        return make(
            .registeredLater,
            "\(name) did not get it: it was registered, or given this handle, after the message"
        )
    }

    /// The outcome of a direct send at a handle; `nil` if the message is not a direct send to it.
    private func fateOfDirect(_ handle: String, _ name: String) async throws -> (DeviceOutcome, reason: String)? {
        guard let place = judge.place(of: handle), let platform = routed.format.platform else { return nil }
        return try await fate(of: Ordinal(rawValue: Int64(place)), on: platform, name)
    }

    /// The parts of an installation that had a handle when the message was accepted.
    private func parts(of id: InstallationID, withHandle handle: String) async throws -> [FoundRegistration] {
        guard
            let device = try await hub.store.installation(hub: hub.record.id, id: id, at: message.logged.sequence),
            let then = device.then, then.platform != .stream
        else { return [] }
        return try await parts(of: device, then).filter { found in
            found.handle.map { PushChannel.handle($0).isAddressed(by: handle) } == true
        }
    }
}

extension FoundRegistration {
    init(_ registration: Registration, installation: InstallationID?, ordinal: Ordinal) {
        self.init(
            id: registration.id,
            platform: registration.platform,
            template: registration.template?.name,
            tile: registration.secondaryTileName,
            installation: installation,
            ordinal: ordinal,
            handle: registration.pushChannel.handle,
            tags: registration.tags
        )
    }
}

extension DeviceReport {
    /// Reports on a message that has not been sent yet.
    init(id: String, waitingFor message: MessageReport) {
        let reason =
            message.state == .canceled
            ? "no device gets it: it was canceled at \(message.canceledAt ?? "")"
            : "no device has got it yet: it is scheduled for \(message.dueAt ?? ""), and its recipients are found then"
        self.init(id: id, outcome: .notSent, explanation: [reason])
    }
}
