import HubProtocol
import HubRouting
import HubStore
import Logging

/// The file of a server's hubs, opened and up to date, with what its start has found and changed.
struct OpenedHubs {
    let store: HubStore
    let secrets: SecretBox
    /// True if app backend and pages have their tables in the hub's file.
    let usesTables: Bool
    /// `nil` for a hub with one node.
    let others: OtherNodes?
    let eligibility: LeaseEligibility
    let generationFile: GenerationFile
    let start: HubStart
    /// The last time of the wall clock that an earlier start has stored.
    let lastSeen: Timestamp?
    let epochs: EpochHistory
    let namespaceRules: [AccessRule]
    let hubs: [StoredHub]
    /// The hubs as of the end of the log.
    let machine: NamespaceMachine

    /// Opens the file, follows its log, and begins an epoch; a new file gets a hub and its rules.
    ///
    /// - Throws: The errors of ``HubService``'s initializer.
    init(
        _ configuration: HubConfiguration,
        log: any OrderedLog,
        channel: any NodeChannel,
        logger: Logger
    ) async throws {
        let secrets = try SecretsFile(path: configuration.secretsPath).box()
        let store = try HubStore(
            path: configuration.databasePath,
            maximumPages: configuration.maximumPages,
            reservedTags: configuration.reservedTags,
            secrets: secrets,
            log: log,
            rehearses: configuration.rehearsesStages,
            signs: [configuration.generationPath]
        )
        try await store.join()
        let eligibility = LeaseEligibility(
            clocks: NodeClocks(
                wall: { configuration.timestamp },
                monotonic: configuration.monotonic,
                servers: { log.serverReport.clocks }
            ),
            proof: KeyProof(secrets)
        )
        let others = log.identity.map { identity in
            OtherNodes(
                channel,
                of: store,
                named: identity.node,
                version: configuration.version ?? "unknown",
                eligibility: eligibility,
                servers: { log.serverReport }
            )
        }
        // The machine is built from the store as it is then.
        try await store.follow { _ in }
        if let others {
            let isUpgrade = store.awaitsUpgrade
            let waiting = configuration.onWaiting
            try await SchemaUpgrade(store: store, others: others, channel: channel, logger: logger, waiting: waiting)
                .run()
            try await eligibility.proof.look(in: store)
            // When earlier versions are replaced, a node without the key must not be missing at once.
            if eligibility.proof.hasFailed, !isUpgrade { throw NodeRefusal.otherKey(path: configuration.secretsPath) }
        }
        if others != nil { try await configuration.onTables(StartTables(store: store, secrets: secrets)) }
        (self.store, self.others, self.eligibility) = (store, others, eligibility)
        self.secrets = secrets
        let holdsPeople = try await store.readTables(HubStore.holdsPeople)
        usesTables = others != nil || holdsPeople
        lastSeen = try await store.lastSeenClock()
        generationFile = GenerationFile(path: configuration.generationPath)
        let proof = others == nil ? nil : eligibility.proof
        start = try await HubStart.make(store, configuration, generationFile, proof)
        start.log(logger)
        do {
            try generationFile.write(start.generation)
        } catch {
            // The database is ahead of the file, as after a crash; housekeeping updates the file.
            logger.warning(
                "cannot write the generation file: an older copy of the database put back now would not be noticed",
                metadata: ["error.reason": "\(error)"]
            )
        }
        epochs = EpochHistory(epochs: try await store.epochs(), losses: try await store.losses())
        for hub in try await store.hubsWithLostSecrets() {
            logger.error(
                "cannot decrypt the hub's credentials for push services with this key file; set them again",
                metadata: ["hub.name": "\(hub.name)", "file.path": "\(configuration.secretsPath)"]
            )
        }
        namespaceRules = try await store.namespaceRules()
        hubs = try await store.storedHubs()
        machine = try await HubStart.machine(of: hubs, in: store, namespaceRules, epochs, configuration, logger)
    }
}
