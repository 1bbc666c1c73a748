import ArgumentParser
import Foundation
import HostSystem
import Settings
import SubscriberAgent

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Listen for news and hand it on.",
        discussion: """
            --categories stores the choice, registers it at the hub and listens. Without it the stored choice is \
            taken: this is what a service runs. While the profile's service runs, --categories changes its choice \
            and ends; the service follows at once. --language and --template are stored and changed the same way.

            --language French shows what messages say in the property News_French, and nothing of those that have \
            none: 'newswire inbox' lists them as empty. --template takes a JSON object of your own, with terms such as \
            $(News_French); agents print its members message or title, and link. NEWSWIRE_BODY has all of it.

            A program given with --exec is run once for each message, without a shell. It finds the message in \
            NEWSWIRE_ID, NEWSWIRE_TITLE, NEWSWIRE_MESSAGE, NEWSWIRE_LINK and NEWSWIRE_CATEGORY, as the hub sent it in \
            NEWSWIRE_BODY, and as JSON on standard input; NEWSWIRE_REDELIVERY=1 says that an earlier run may have done \
            its work. It is also run, with NEWSWIRE_GAP=1, when the hub can no longer give messages that the \
            agent missed: there is no message then, the title says so and the JSON has 'gap'.

            --notify shows each message through the desktop's notification service and prints nothing; a click opens the \
            message's link. The property urgency (low, normal, critical) says how, and a message replaces an \
            earlier one with the same property story. With --json or --exec both are done. Without a desktop, \
            the agent reports that once and prints messages.

            After 'newswire login' the agent is registered as that user, through the app backend: notifications by name \
            come as well, and texts of secure notifications are fetched. A login or logout while it runs counts at once.

            EXAMPLES
              newswire subscribe --categories World,Sports
              newswire subscribe --json | jq .title
              newswire subscribe --exec /usr/local/bin/light-the-lamp
              newswire subscribe --notify
              newswire subscribe --categories ''       only what goes to everybody
              newswire subscribe --categories World --language French
              newswire subscribe --language ''         back to the main language
              newswire subscribe --template my.json
            """
    )

    @OptionGroup var agent: AgentOptions

    @Option(help: ArgumentHelp("The categories to choose, with commas between them.", valueName: "names"))
    var categories: String?

    @Option(help: ArgumentHelp("The language to show messages in; '' for the main one.", valueName: "name"))
    var language: String?

    @Option(
        help: ArgumentHelp(
            "A file with the template to show messages by, a JSON object; '' for the standard one.",
            valueName: "file"
        )
    )
    var template: String?

    @Flag(help: "Print each message as one line of JSON.")
    var json = false

    @Option(AgentSettings.exec)
    var exec: String?

    @Flag(AgentSettings.notify)
    var notify: Bool?

    @Option(AgentSettings.handlerTimeout)
    var handlerTimeout: Duration?

    func validate() throws {
        if json, exec != nil { throw ValidationError("--json and --exec exclude each other; --exec gets JSON anyway") }
        if language != nil, template != nil {
            throw ValidationError("--language and --template exclude each other; a template can name a language itself")
        }
    }

    func run() async throws {
        try await agent.withAgent { agent, settings in
            let choice = try categories.map { try CategoryChoice(typed: $0) }
            let ownTemplate = try template.map { try TemplateChoice(file: $0) }
            let chosenTemplate = try language.map { try TemplateChoice(language: $0) } ?? ownTemplate
            if let warning = chosenTemplate?.warning { Console.warning(warning) }
            // --json on the command line counts before a program in the file.
            let program = json ? nil : settings.value(AgentSettings.exec, flag: exec)
            let handler: InboxHandler = program.map { .exec(program: $0) } ?? (json ? .json : .print)
            var limits = HandlerLimits()
            limits.timeout = settings.value(AgentSettings.handlerTimeout, flag: handlerTimeout)
            let bounds = limits
            let isNotifying = settings.value(AgentSettings.notify, flag: notify)
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
                // Its tasks run and its database answers; the stream has an idle time-out of its own.
                return try await notifier.feedingWatchdog(probe: { _ = try await agent.choice() }, during: subscribe)
            }
            report(ending)
            if ending.exitCode != 0 { throw ExitCode(ending.exitCode) }
        }
    }

    /// Prints a subscription at a terminal; a service's log does not need it.
    @Sendable private static func say(_ subscription: Subscription) {
        guard Console.isInteractive else { return }
        let categories = subscription.categories
        let names = categories.isEmpty ? "broadcasts only" : categories.joined(separator: ", ")
        let template = subscription.template.note.map { ", \($0)" } ?? ""
        Console.notice("subscribed to \(names)\(template)\(subscription.user.map { " as \($0)" } ?? "")")
    }

    private func report(_ ending: SubscribeEnding) {
        switch ending {
        case .stopped, .outputClosed: break
        case .choiceStored(let outcome):
            let names = outcome.categories.isEmpty ? "broadcasts only" : outcome.categories.joined(separator: ", ")
            let template = outcome.template.note.map { ", \($0)" } ?? ""
            Console.notice("now chosen: \(names)\(template); the running subscriber follows")
        case .unsubscribed: Console.notice("unsubscribed by another process")
        case .replaced:
            Console.error("another process has opened this installation's stream: was the state directory copied?")
            Console.hint("give each copy a --profile of its own, with an empty state directory")
        }
    }
}

/// Runs work until it ends, or until SIGTERM or SIGINT cancels it.
func untilStopped<Output: Sendable>(
    onStopping: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () async throws -> Output
) async throws -> Output {
    // Before the work begins: a signal that comes when it says that it is ready must not kill it.
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
