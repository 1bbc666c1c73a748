import HubProtocol
import HubRouting
import HubStore
import Logging

/// The findings and changes of a start.
struct HubStart: Sendable {
    let notes: [HubProvisions.Note]
    /// The changes of hubs, which running nodes learn from the log.
    let effects: [NamespaceEffect]
    let generation: Generation
    var restore: (sign: GenerationFile.RestoreSign, loss: Loss)?

    func log(_ logger: Logger) {
        for note in notes { note.log(logger) }
        guard let restore else { return }
        logger.warning(
            "the database is an older copy: messages accepted after it was made may be lost, and agents are sent a gap",
            metadata: ["restore.sign": "\(restore.sign.rawValue)", "log.sequence": "\(restore.loss.sequence)"]
        )
    }

    /// Creates the hub of a new file, the namespace's rule and the configured hubs, and records this start.
    ///
    /// A log without a proof of its nodes' key gets that of this node, `proof`, which a hub with one node lacks.
    ///
    /// - Throws: A `DatabaseError`, or a ``HostSystem/HostError`` if the file next to the database cannot be read.
    static func make(
        _ store: HubStore,
        _ configuration: HubConfiguration,
        _ generationFile: GenerationFile,
        _ proof: KeyProof?
    ) async throws -> HubStart {
        let inFile = try generationFile.read()
        let at = configuration.timestamp
        let (incarnation, node) = (store.incarnation, store.node)
        let epoch = incarnation ?? EpochHistory.newName()
        let sealedProof = try proof?.sealed()
        // Other nodes cannot decrypt what this one encrypts with another key.
        let mayEncrypt = proof?.hasFailed != true
        let begin = { @Sendable (transaction: Transaction) -> HubStart in
            let former = Dictionary(
                uniqueKeysWithValues: try transaction.hubs().map { ($0.record.id, $0.policy) }
            )
            if let node { try transaction.claimJobs(by: node) }
            // An operator may have deleted the last hub.
            let isNew = try transaction.isNew()
            // Credentials that cannot be read must not be overwritten: the key file may come back.
            let sealed = Set(try transaction.hubsWithLostSecrets().map(\.id))
            if isNew { try transaction.noteClock(at) }
            if mayEncrypt { try transaction.sealSecrets() }
            // A node that cannot decrypt the credentials has another key than the node that encrypted them.
            if let sealedProof, sealed.isEmpty, try transaction.keyProof() == nil {
                try transaction.setKeyProof(sealedProof)
            }
            if isNew, configuration.makesFirstHub {
                _ = try transaction.insertHub(configuration.hubName, rules: AccessRule.standardRules(), at: at)
            }
            if try !transaction.namespaceRules().contains(where: { $0.name == AccessRule.rootName }) {
                let root = AccessRule.generated(name: AccessRule.rootName, rights: [.listen, .manage, .send])
                try transaction.putNamespaceRule(root, at: at)
            }
            _ = try transaction.beginEpoch(named: epoch, at: at)
            let counted = try transaction.generation()
            let sign = GenerationFile.sign(of: counted, inFile, isCopy: try transaction.isCopy())
            // A new database has never accepted messages. An older copy of a node's database gets the rest from the
            // log.
            let mayLack = sign != nil && !isNew && incarnation == nil
            let loss = mayLack ? try transaction.noteLoss(epoch: epoch, at: at) : nil
            if sign == .copy { try transaction.clearCopyMark() }
            let generation = GenerationFile.next(after: counted, inFile)
            try transaction.set(generation)
            let notes = try configuration.provisions.apply(transaction, at: at)
            for var hub in try transaction.hubs() where mayEncrypt && !sealed.contains(hub.record.id) {
                guard let keys = BrowserKeys.missing(in: hub.description.credentials, configuration) else {
                    continue
                }
                hub.description.credentials.append(keys)
                try transaction.update(hub)
            }
            return HubStart(
                notes: notes,
                effects: try effects(after: former, transaction),
                generation: generation,
                restore: sign.flatMap { sign in loss.map { (sign: sign, loss: $0) } }
            )
        }
        return try await store.commit([begin], effects: \.effects)[0].get()
    }

    /// The effects of a start on hubs whose former policies are given.
    private static func effects(
        after former: [HubKey: HubPolicy],
        _ transaction: Transaction
    ) throws -> [NamespaceEffect] {
        try transaction.hubs().compactMap { hub in
            guard let policy = former[hub.record.id] else {
                return .created(hub, try transaction.extent())
            }
            return policy == hub.policy ? nil : NamespaceEffect(hub.record.id, PolicyEffect(hub.policy))
        }
    }
}

// MARK: - The state in memory

extension HubStart {
    /// The initial in-memory state of the hubs in the store.
    static func machine(
        of hubs: [StoredHub],
        in store: HubStore,
        _ namespaceRules: [AccessRule],
        _ epochs: EpochHistory,
        _ configuration: HubConfiguration,
        _ logger: Logger
    ) async throws -> NamespaceMachine {
        var machine = NamespaceMachine(
            rules: namespaceRules,
            epochs: epochs,
            reserved: configuration.reservedTags,
            loops: configuration.eventLoops
        )
        let extent = try await store.extent()
        var registries = try await store.reduceTargets(into: [:]) {
            (registries: inout [HubKey: Registry], hub, target) in
            registries[hub, default: Registry()].insert(target)
        }
        for hub in hubs {
            let key = hub.record.id
            let targets = registries.removeValue(forKey: key) ?? Registry()
            let registry = try await store.reduceStreams(hub: key, into: targets) { registry, stored in
                do {
                    guard stored.isReadable else { throw HubStoreError.unreadableRecord }
                    if let entry = try Registry.Entry(stored) { registry.put(entry) }
                } catch {
                    logger.error(
                        "an installation cannot be read and gets nothing until it registers again",
                        metadata: ["installation.id": "\(stored.installation.id)", "error.reason": "\(error)"]
                    )
                }
            }
            machine.load(
                key,
                hub.policy,
                registry: registry,
                scheduled: try await store.scheduledLoad(hub: key),
                extent: extent
            )
        }
        return machine
    }
}
