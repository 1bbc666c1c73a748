import ArgumentParser
import Foundation
import HostSystem
import Settings
import SubscriberAgent

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Receive news, and print it, show it or pass it to a program.",
        discussion: """
            --categories stores the choice, registers it at the hub and listens. Without it, the command uses the \
            stored choice, as a service does. While the profile's service runs, --categories only changes the stored \
            choice, and the service applies it at once. --language and --template are stored and changed the same way.

            --language French shows the property News_French of each message. Messages without it are not shown; \
            'newswire inbox' lists them as empty. --template sets your own JSON object, with terms such as \
            $(News_French); agents print its members message or title, and link. NEWSWIRE_BODY has the whole object.

            --exec runs a program once for each message, without a shell. The program gets the message in \
            NEWSWIRE_ID, NEWSWIRE_TITLE, NEWSWIRE_MESSAGE, NEWSWIRE_LINK and NEWSWIRE_CATEGORY, as the hub sent it in \
            NEWSWIRE_BODY, and as JSON on standard input. NEWSWIRE_REDELIVERY=1 means that an earlier run may already \
            have handled the message. The program also runs, with NEWSWIRE_GAP=1, when the agent missed messages that \
            the hub no longer has: there is no message then, the title says so, and the JSON has 'gap'.

            --notify shows each message through the desktop's notification service and prints nothing; a click opens \
            the message's link. The property urgency sets the notification's urgency (low, normal, critical), and a \
            message replaces an earlier one with the same property story. With --json or --exec it does both. Without \
            a desktop, the agent reports that once and prints messages.

            After 'newswire login' the agent is registered as that user, through the app backend: it also receives \
            notifications to that user, and fetches the texts of secure notifications. A login or logout takes effect \
            at once, even while the agent runs.

            EXAMPLES
              newswire subscribe --categories World,Sports
              newswire subscribe --json | jq .title
              newswire subscribe --exec /usr/bin/logger
              newswire subscribe --notify
              newswire subscribe --categories ''       only messages to everybody
              newswire subscribe --categories World --language French
              newswire subscribe --language ''         back to the main language
              newswire subscribe --template my.json
            """
    )

    @OptionGroup var agent: AgentOptions

    @Option(
        help: ArgumentHelp("The categories to choose, separated by commas.", valueName: "names"),
        completion: .categories
    )
    var categories: String?

    @Option(help: ArgumentHelp("The language to show messages in; '' for the main one.", valueName: "name"))
    var language: String?

    @Option(
        help: ArgumentHelp(
            "A file with the template for messages, a JSON object; '' for the standard template.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var template: String?

    @Flag(help: "Print each message as one line of JSON.")
    var json = false

    @OptionGroup var flags: SettingFlags<HandlerFlags>

    func validate() throws {
        if json, flags.has(AgentSettings.exec.entry) {
            throw ValidationError("--json and --exec cannot be combined; the program gets JSON anyway")
        }
        if language != nil, template != nil {
            throw ValidationError("--language and --template cannot be combined; a template can name a language itself")
        }
    }

    func run() async throws {
        try await agent.withAgent { agent, settings in
            let settings = settings.overridden(by: flags.values)
            let choice = try categories.map { try CategoryChoice(typed: $0) }
            let ownTemplate = try template.map { try TemplateChoice(file: $0) }
            let chosenTemplate = try language.map { try TemplateChoice(language: $0) } ?? ownTemplate
            if let warning = chosenTemplate?.warning { Console.warning(warning) }
            // --json on the command line overrides a program in the configuration file.
            let program = json ? nil : settings.value(AgentSettings.exec)
            let handler: InboxHandler = program.map { .exec(program: $0) } ?? (json ? .json : .print)
            var limits = HandlerLimits()
            limits.timeout = settings.value(AgentSettings.handlerTimeout)
            let bounds = limits
            let isNotifying = settings.value(AgentSettings.notify)
            let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
            let ending = try await untilStopped(onStopping: { notifier?.stopping() }) {
                let subscribe = {
                    try await agent.subscribe(
                        choosing: choice,
                        template: chosenTemplate,
                        handler: handler,
                        notifying: isNotifying,
                        output: StandardOutput(),
                        limits: bounds,
                        onStart: { notifier?.ready() },
                        onSubscribed: Self.say
                    )
                }
                guard let notifier else { return try await subscribe() }
                // The probe shows that tasks run and the database answers. The stream has its own idle time-out.
                return try await notifier.feedingWatchdog(probe: { _ = try await agent.choice() }, during: subscribe)
            }
            report(ending)
            if ending.exitCode != 0 { throw ExitCode(ending.exitCode) }
        }
    }

    /// Prints a subscription on a terminal; a service's log does not need it.
    @Sendable private static func say(_ subscription: Subscription) {
        guard Console.isInteractive else { return }
        let choice = choice(subscription.categories, subscription.template.note)
        Console.notice("subscribed to \(choice)\(subscription.user.map { " as \($0)" } ?? "")")
    }

    private static func choice(_ categories: [String], _ template: String?) -> String {
        let names = categories.isEmpty ? "broadcasts only" : categories.joined(separator: ", ")
        return names + (template.map { ", \($0)" } ?? "")
    }

    private func report(_ ending: SubscribeEnding) {
        switch ending {
        case .stopped, .outputClosed: break
        case .choiceStored(let outcome):
            let choice = Self.choice(outcome.categories, outcome.template.note)
            Console.notice("now chosen: \(choice); the running agent applies it")
        case .unsubscribed: Console.notice("unsubscribed by another process")
        case .replaced:
            Console.error("another process has opened this installation's stream: was the state directory copied?")
            Console.hint("give each copy its own --profile, with an empty state directory")
        }
    }
}

/// Runs `work` until it ends, or until SIGTERM or SIGINT cancels it.
func untilStopped<Output: Sendable>(
    onStopping: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () async throws -> Output
) async throws -> Output {
    // Installed before the work begins: a signal must not kill the process once the work has reported that it is ready.
    let signals = TerminationSignals.stream()
    let task = Task { try await work() }
    let watcher = Task {
        for await _ in signals {
            onStopping()
            task.cancel()
        }
    }
    defer { watcher.cancel() }
    return try await withTaskCancellationHandler {
        try await task.value
    } onCancel: {
        task.cancel()
    }
}
