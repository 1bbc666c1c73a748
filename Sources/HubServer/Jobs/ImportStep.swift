import Foundation
import HubProtocol
import HubRouting
import HubStore

/// The records of an import that one transaction stores; a record that is refused does not affect the others.
struct ImportStep: Sendable {
    /// Lines for a file.
    struct Lines: Sendable {
        private var bytes: [UInt8] = []
        private(set) var count = 0

        /// `nil` if there are none.
        var text: String? { count == 0 ? nil : String(decoding: bytes, as: UTF8.self) }

        mutating func append(_ line: [UInt8]) {
            bytes += line
            bytes.append(UInt8(ascii: "\n"))
            count += 1
        }
    }

    struct Outcome: Sendable {
        var effects: [any HubEffect] = []
        var output = Lines()
        var failed = Lines()
    }

    private enum Wanted: Sendable {
        case put(Registration)
        case delete(RegistrationID)
    }

    private let kind: NotificationHubJob.Kind
    private let hub: Hub
    /// Parsed before the transaction, which should be short.
    private let records: [(record: RegistrationRecords.Record, wanted: Result<Wanted, ProtocolError>)]

    init(kind: NotificationHubJob.Kind, hub: Hub, records: [RegistrationRecords.Record]) {
        self.kind = kind
        self.hub = hub
        self.records = records.map { record in
            (
                record,
                Result { () throws(ProtocolError) in
                    try Self.read(record, kind, maximumTags: hub.configuration.maximumTags)
                }
            )
        }
    }

    private static func read(
        _ record: RegistrationRecords.Record,
        _ kind: NotificationHubJob.Kind,
        maximumTags: Int
    ) throws(ProtocolError) -> Wanted {
        guard !record.isTooLong else {
            throw .tooLarge("The line is longer than \(RegistrationRecords.maximumBytes) bytes.")
        }
        let stated = RegistrationLine.statedID(in: record.bytes)
        if kind == .importUpdateRegistrations || kind == .importDeleteRegistrations, stated == nil {
            throw .badRequest("The line has no RegistrationId.")
        }
        if kind == .importDeleteRegistrations, let stated { return .delete(stated) }
        return .put(try Registration(description: record.bytes, maximumTags: maximumTags))
    }

    func stage(_ transaction: Transaction, _ view: borrowing HubMachine, at: Timestamp) throws -> Outcome {
        var outcome = Outcome()
        for (record, wanted) in records {
            do {
                let (line, effects) = try stage(wanted.get(), of: record, transaction, view, at: at)
                outcome.output.append(line)
                outcome.effects += effects
            } catch let refusal as ProtocolError {
                outcome.failed.append(
                    RegistrationLine.failed(record.bytes, number: record.number, reason: refusal.detail)
                )
            }
        }
        return outcome
    }

    /// Refuses an installation's registrations from an export if the installation exists here: its device would get
    /// everything twice.
    private func refuseOfInstallation(_ registration: Registration, _ transaction: Transaction) throws {
        for tag in registration.tags {
            guard let id = tag.installationID,
                let current = try transaction.installation(hub: hub.record.id, id: id)
            else { continue }
            throw ProtocolError.conflict(
                "The installation '\(current.installation.id)' exists; its registrations are not imported."
            )
        }
    }

    /// Refusals precede all writes, so that they leave nothing to undo.
    private func stage(
        _ wanted: Wanted,
        of record: RegistrationRecords.Record,
        _ transaction: Transaction,
        _ view: borrowing HubMachine,
        at: Timestamp
    ) throws -> ([UInt8], [any HubEffect]) {
        switch wanted {
        case .delete(let id):
            let (former, effects) = try hub.registrations.stageDeletion(of: id, if: .none, at: at, transaction)
            return (former?.exportLine ?? record.bytes, effects)
        case .put(let registration):
            if let expiration = registration.expirationTime, Timestamp(expiration) <= at {
                throw ProtocolError.badRequest("The registration has expired: its ExpirationTime has passed.")
            }
            try refuseOfInstallation(registration, transaction)
            if kind != .importUpsertRegistrations {
                let isThere = try transaction.registration(hub: hub.record.id, id: registration.id) != nil
                guard isThere || kind == .importCreateRegistrations else { throw ProtocolError.noRegistration }
                guard !isThere || kind == .importUpdateRegistrations else {
                    throw ProtocolError.conflict("The registration '\(registration.id)' already exists.")
                }
            }
            let (stored, change) = try hub.registrations.stage(
                registration,
                if: .none,
                writer: nil,
                isImport: true,
                at: at,
                transaction,
                view
            )
            return (stored.registration.exportLine, [TargetsEffect([change])])
        }
    }
}

/// The records of one transaction of an import.
///
/// The hub's other changes wait for no more than these, and one checkpoint covers them.
struct ImportChunk {
    struct Limits: Sendable {
        let records: Int
        let bytes: Int
    }

    private let limits: Limits
    private(set) var records: [RegistrationRecords.Record] = []
    private var bytes = 0

    init(_ limits: Limits) { self.limits = limits }

    var isFull: Bool { records.count >= limits.records || bytes >= limits.bytes }

    mutating func append(_ record: RegistrationRecords.Record) {
        records.append(record)
        bytes += record.bytes.count
    }
}
