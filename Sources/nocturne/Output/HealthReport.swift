import Foundation
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneRecipes
import NocturneReview
import NocturneSupervisor
import NocturneSystem

/// The findings of `doctor`, one line each.
struct HealthReport: Encodable {
    let schemaVersion = 1
    let version: String
    private(set) var findings: [HealthFinding] = []
    /// The environment variables of the program that are set, by name.
    let variables: [EnvironmentVariables.Variable]

    /// Measures the machine.
    /// - Parameters:
    ///   - folder: the output folder.
    ///   - model: a package to run one patch with.
    init(version: String, folder: String, model: String?, time: any TimeSource) async {
        self.version = version
        let environment = ProcessInfo.processInfo.environment
        variables = EnvironmentVariables.variables(environment)
        let machine = MachineHealth(time: time)
        // In the order of printing: the machine, what is installed, the environment, then the model that was named.
        findings = processor() + machine.memory() + [machine.clock()] + libraries() + machine.disk(folder)
        findings += engines() + [viewer()]
        findings += packages() + variables.map { Self.finding(of: $0, in: environment) }
        if let model { findings.append(await patch(of: model)) }
    }

    var hasFault: Bool { findings.contains { $0.state == .fault } }

    var text: String {
        let marks: [HealthFinding.State: String] = [.ok: "ok", .warning: "warning", .fault: "FAULT"]
        return Terminal.table(findings.map { [marks[$0.state] ?? "", $0.subject, $0.fact] })
    }

    private func processor() -> [HealthFinding] {
        let count = CoreAllowance.count()
        let precisions = InferencePrecision.allCases.filter(BuiltinEngine.precisions.contains).map(\.rawValue)
        let instructions = InstructionSets.best(environment: ProcessInfo.processInfo.environment)
        // Nothing depends on the name: where the file cannot be read, only the name is missing.
        let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
        let facts = [
            text.flatMap(MachineHealth.processorName) ?? "of unknown name",
            "\(counted(count, "core")) for this process",
            "instruction set \(instructions)",
            "precisions \(precisions.joined(separator: ", "))",
        ]
        var findings = [
            HealthFinding("nocturne", "\(version) on \(ProcessInfo.processInfo.operatingSystemVersionString)"),
            HealthFinding("processor", facts.joined(separator: "; ")),
        ]
        if InstructionSets.multiplyBfloat16.contains(instructions) {
            let fact = "there are products of bfloat16: --precision bfloat16 can be faster than float32, and is coarser"
            findings.append(HealthFinding("precision", fact))
        }
        return findings
    }

    /// The versions of the libraries that read formats, and of SQLite.
    private func libraries() -> [HealthFinding] {
        var versions = FormatLibraries.versions
        var findings: [HealthFinding] = []
        do {
            versions.append(("SQLite", try Journal.libraryVersion()))
        } catch {
            findings.append(HealthFinding("SQLite", "\(error)", .fault))
        }
        let text = versions.map { "\($0.name) \($0.version)" }.joined(separator: ", ")
        return findings + [HealthFinding("libraries", text)]
    }

    /// The engines that need additional software.
    private func engines() -> [HealthFinding] {
        InferenceEngines.all.kinds.filter(\.needsInstallation).map { kind in
            do {
                let engine = try kind.make(ProcessInfo.processInfo.environment)
                return HealthFinding(kind.title, engine.facts)
            } catch let error as EngineError where error.code == .notFound {
                // An engine that nobody has installed is not a fault.
                return HealthFinding(
                    kind.title,
                    "not installed; networks that the builtin engine runs do not need it"
                )
            } catch {
                // A warning, since the builtin engine is there in any case.
                return HealthFinding(kind.title, "\(error)", .warning)
            }
        }
    }

    /// What shows volumes in review pages.
    private func viewer() -> HealthFinding {
        let fact =
            ReviewPage.viewerFolder.map { "NiiVue in \($0)" }
            ?? "NiiVue is not installed: review pages show pictures only, with --review volumes too"
        return HealthFinding("viewer", fact)
    }

    /// The packages on the search path, whose descriptions and sizes are checked; digests are not verified.
    private func packages() -> [HealthFinding] {
        LoadedModels.catalog().entries().map { entry in
            switch entry.package {
            case .success(let package): HealthFinding("model", "\(package.id) \(package.version)")
            // A warning: a broken package concerns only batches that use it.
            case .failure(let error): HealthFinding("model", "\(entry.folderName): \(error)", .warning)
            }
        }
    }

    private func patch(of model: String) async -> HealthFinding {
        do {
            let package = try LoadedModels.package(model)
            let threads = CoreAllowance.count()
            // One run: it is to show that the network works here, and its time is of no interest.
            let report = try await CheckReport(package: package, threads: threads, repeats: 1)
            let text = [package.id, report.text, report.fault].compactMap { $0 }.joined(separator: "\n")
            return HealthFinding("one patch", text, report.fault == nil ? .ok : .fault)
        } catch {
            return HealthFinding("one patch", "\(model): \(error)", .fault)
        }
    }

    private static func finding(
        of variable: EnvironmentVariables.Variable,
        in environment: [String: String]
    ) -> HealthFinding {
        if let meaning = variable.meaning {
            let value = environment[variable.name] ?? ""
            if variable.name == "NOCTURNE_MODELS",
                let missing = value.split(separator: ":").map(String.init).first(where: {
                    // The user's folder, which packages add, is made with the first model.
                    !FileSystem.isFolder($0) && !ModelCatalog.userFolders(environment).contains($0)
                })
            {
                let fact = "there is no folder \(missing). Make it, or correct the variable"
                return HealthFinding("variable", "\(variable.name)=\(value): \(fact)", .warning)
            }
            let refusal = variable.name == InstructionSets.variable ? InstructionSets.refusal(of: value) : nil
            let isRefused = refusal != nil || variable.name == "NOCTURNE_FAULT"
            let fact = "\(variable.name)=\(value): \(refusal ?? meaning)"
            return HealthFinding("variable", fact, isRefused ? .fault : .ok)
        }
        let hint = variable.nearest.map { "; did you mean \($0)?" } ?? ""
        return HealthFinding("variable", "\(variable.name) is not a known variable\(hint)", .warning)
    }
}
