package import HubProtocol

/// The machines of all hubs, and their shared state: the namespace's rules, and the list of hubs.
package struct NamespaceMachine: Sendable {
    /// The actions that a batch of changes requires of the server, by hub in no particular order.
    package struct Output: Sendable {
        package var opened: [HubRecord] = []
        /// Hubs that were deleted; their commands are the last ones.
        package var closed: Set<HubKey> = []
        package var hubs: [HubKey: (status: HubStatus, commands: [[StreamCommand]])] = [:]
        /// Hubs whose push services have new deliveries.
        package var deliveries: Set<HubKey> = []
        /// Streams that are announced to other nodes.
        package var attached: [HubKey: [AttachedStream]] = [:]
        /// `nil` if they have not changed.
        package var rules: [AccessRule]?
    }

    private let epochs: EpochHistory
    private let reserved: ReservedTagPrefixes
    private let loops: Int
    private var hubs: [HubKey: HubMachine] = [:]
    private var rules: [AccessRule]
    private var rulesChanged = false
    private var opened: [HubRecord] = []
    private var closed: Set<HubKey> = []
    private var touched: Set<HubKey> = []

    package init(rules: [AccessRule], epochs: EpochHistory, reserved: ReservedTagPrefixes, loops: Int) {
        self.rules = rules
        self.epochs = epochs
        self.reserved = reserved
        self.loops = loops
    }

    /// Adds a hub that the store contains.
    package mutating func load(
        _ hub: HubKey,
        _ policy: HubPolicy,
        registry: consuming Registry,
        scheduled: ScheduledLoad,
        extent: LogExtent
    ) {
        hubs[hub] = HubMachine(
            policy: policy,
            namespaceRules: rules,
            registry: registry,
            scheduled: scheduled,
            extent: extent,
            epochs: epochs,
            reserved: reserved,
            loops: loops
        )
    }

    package func status(of hub: HubKey) -> HubStatus? { hubs[hub]?.status }

    /// The machine of a hub; `nil` if no hub has this number.
    ///
    /// A stage sees the hub in it as it was before the commit, and must not keep it or its registry: the next effect
    /// would copy what is kept.
    package subscript(hub: HubKey) -> HubMachine? { hubs[hub] }

    /// Adds a hub that was created.
    package mutating func create(_ record: HubRecord, _ policy: HubPolicy, _ extent: LogExtent) {
        load(record.id, policy, registry: Registry(), scheduled: .none, extent: extent)
        opened.append(record)
        touched.insert(record.id)
    }

    /// Closes a hub that was deleted; it is removed with the next output.
    package mutating func delete(_ hub: HubKey) {
        guard hubs[hub] != nil else { return }
        change(hub) { $0.close() }
        closed.insert(hub)
    }

    /// Records that all rows of the log up to a sequence were dropped.
    package mutating func drop(through sequence: LogSequence) {
        for hub in hubs.keys { change(hub) { $0.drop(through: sequence) } }
    }

    /// Changes the machine of a hub, if there is one.
    package mutating func change(_ hub: HubKey, _ body: (inout HubMachine) -> Void) {
        guard hubs[hub] != nil else { return }
        hubs[hub]?.change(body)
        touched.insert(hub)
    }

    package mutating func apply(_ input: StreamInput, to hub: HubKey) {
        if !closed.contains(hub) { change(hub) { $0.apply(input) } }
    }

    /// Applies namespace rules that another process has written.
    package mutating func observe(_ rules: [AccessRule]) {
        guard rules != self.rules else { return }
        self.rules = rules
        rulesChanged = true
    }

    /// Returns the actions required by the changes since the last call.
    package mutating func takeOutput() -> Output {
        var output = Output(opened: opened, closed: closed, rules: rulesChanged ? rules : nil)
        for hub in touched {
            guard let commands = hubs[hub]?.takeCommands(), let status = hubs[hub]?.status else { continue }
            output.hubs[hub] = (status, commands)
            if hubs[hub]?.takeDeliveries() == true { output.deliveries.insert(hub) }
            if let attached = hubs[hub]?.takeAttached(), !attached.isEmpty { output.attached[hub] = attached }
        }
        for hub in closed { hubs[hub] = nil }
        (opened, closed, touched, rulesChanged) = ([], [], [], false)
        return output
    }
}
