import Foundation
import NocturneInference
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("ModelCatalog")
struct ModelCatalogTests {
    private static let validate: @Sendable (ModelPackage) throws(ModelPackageError) -> Void = {
        package throws(ModelPackageError) in try RecipeRegistry.all.validate(package)
    }

    private func document(id: String) throws -> String {
        try PackageBuilder.document(changing: "id", to: "\"\(id)\"")
    }

    @Test("the search path is explicit folders, the variable, then the data home")
    func searchPath() {
        let environment = ["NOCTURNE_MODELS": "/a:/b::/a", "XDG_DATA_HOME": "/data", "HOME": "/home/x"]
        #expect(
            ModelCatalog(explicitFolders: ["/own"], environment: environment).searchPath
                == ["/own", "/a", "/b", "/data/nocturne/models"]
        )
        #expect(
            ModelCatalog(environment: ["HOME": "/home/x", "XDG_DATA_HOME": "relative"]).searchPath
                == ["/home/x/.local/share/nocturne/models"]
        )
        #expect(ModelCatalog(environment: [:]).searchPath == [])
    }

    @Test("every package is listed in order, broken ones with their fault")
    func entries() throws {
        try TemporaryFolder.with { place in
            try PackageBuilder.write(document(id: "one"), into: place, folder: "models/b")
            try PackageBuilder.write("{}", into: place, folder: "models/a")
            try place.write("x", to: "models/no-package/readme.txt")
            try place.write("x", to: "models/file")
            let models = place("models").path
            let entries = ModelCatalog(searchPath: [place("nowhere").path, models]).entries()
            #expect(entries.map(\.folderName) == ["a", "b"])
            #expect(throws: ModelPackageError.self) { try entries[0].package.get() }
            #expect(try entries[1].package.get().id == "one")
            // A folder that is itself a package may be on the path.
            #expect(ModelCatalog(searchPath: [models + "/b"]).entries().map(\.folder) == [models + "/b"])
        }
    }

    @Test("packages of one id are told apart by their versions")
    func versions() throws {
        try TemporaryFolder.with { place in
            for (folder, version) in [("a", "1.0"), ("b", "2.0 beta/3"), ("c", "1.0")] {
                let document = try PackageBuilder.document(changing: "version", to: "\"\(version)\"")
                try PackageBuilder.write(document, into: place, folder: "models/" + folder)
            }
            try PackageBuilder.write(document(id: "other"), into: place, folder: "models/d")
            let packages = try ModelCatalog(searchPath: [place("models").path]).entries().map { try $0.package.get() }
            let id = "urinary-tract-ct"
            #expect(
                ModelPackage.distinct(packages).map(\.id) == [id + "@1.0", id + "@2.0-beta-3", id + "@1.0", "other"]
            )
            #expect(ModelPackage.distinct([packages[0], packages[2], packages[3]]).map(\.id) == [id, id, "other"])
        }
    }

    @Test("the version is what helps only where versions differ")
    func ambiguousVersions() throws {
        try TemporaryFolder.with { place in
            let models = place("models").path
            let catalog = ModelCatalog(searchPath: [models])
            func text() throws -> String {
                try #require(throws: ModelCatalogError.self) { try catalog.resolve(nameOrPath: "urinary-tract-ct") }
                    .description
            }
            func add(_ folder: String, _ version: String) throws {
                let document = try PackageBuilder.document(changing: "version", to: "\"\(version)\"")
                try PackageBuilder.write(document, into: place, folder: "models/" + folder)
            }
            try add("a", "3.1")
            try add("b", "2.0")
            #expect(try text().hasSuffix("; specify the version, as in urinary-tract-ct@3.1, or the folder"))
            try add("c", "2.0")
            #expect(try text().hasSuffix("\(models)/c; specify the folder"))
        }
    }

    @Test("every package among the samples is whole")
    func samples() throws {
        let folder = Checkout.folder.appendingPathComponent("Samples/Models").path
        let catalog = ModelCatalog(searchPath: [folder], validate: Self.validate)
        let entries = catalog.entries()
        #expect(!entries.isEmpty)
        for entry in entries { #expect(try catalog.resolve(nameOrPath: entry.folder).id == entry.folderName) }
    }

    @Test("a listing does not read the networks")
    func listingIsCheap() throws {
        try TemporaryFolder.with { place in
            try PackageBuilder.write(
                network: Array("not really a netwerk".utf8),
                into: place,
                folder: "models/a"
            )
            let catalog = ModelCatalog(searchPath: [place("models").path])
            #expect(try catalog.entries()[0].package.get().id == "urinary-tract-ct")
            #expect(throws: ModelCatalogError.self) { try catalog.resolve(nameOrPath: "urinary-tract-ct") }
        }
    }

    @Test("a model is found by id, folder name or path, and the first folder wins")
    func resolving() throws {
        try TemporaryFolder.with { place in
            try PackageBuilder.write(document(id: "one"), into: place, folder: "first/x")
            try PackageBuilder.write(document(id: "one"), into: place, folder: "second/y")
            try PackageBuilder.write(document(id: "two"), into: place, folder: "second/z")
            let catalog = ModelCatalog(searchPath: [place("first").path, place("second").path])
            #expect(try catalog.resolve(nameOrPath: "one").folder == place("first/x").path)
            #expect(try catalog.resolve(nameOrPath: "two").folder == place("second/z").path)
            #expect(try catalog.resolve(nameOrPath: "y").id == "one")
            #expect(try catalog.resolve(nameOrPath: place("second/z").path).id == "two")
            let two = try catalog.resolve(nameOrPath: "two")
            #expect(try catalog.resolve(nameOrPath: "two@\(two.version)").folder == two.folder)
            #expect(throws: ModelCatalogError.self) { try catalog.resolve(nameOrPath: "two@0.0.9") }
        }
    }

    @Test("what is not found, broken or ambiguous is said, with what there is")
    func failures() throws {
        try TemporaryFolder.with { place in
            try PackageBuilder.write(document(id: "one"), into: place, folder: "models/x")
            try PackageBuilder.write(document(id: "one"), into: place, folder: "models/y")
            try PackageBuilder.write("{}", into: place, folder: "models/z")
            let models = place("models").path
            let catalog = ModelCatalog(searchPath: [models])
            func text(_ name: String) throws -> String {
                try #require(throws: ModelCatalogError.self) { try catalog.resolve(nameOrPath: name) }.description
            }
            #expect(
                try text("three") == "there is no model \"three\". Models in \(models): one, one, z (broken)"
            )
            #expect(try text("oné").hasPrefix("there is no model \"oné\". Did you mean one? Models in "))
            for name in ["plans.json", "dataset.json", "fold_0/x"] {
                try place.write("{}", to: "results/set/trained/" + name)
            }
            try place.write("{}", to: "bundle/configs/metadata.json")
            let trained = place("results/set/trained").path
            for (folder, advice) in [
                (
                    trained,
                    "is a trained nnU-Net model. Convert it with `nocturne models import \(trained)`"
                ),
                (trained + "/fold_0", "is a part of a trained nnU-Net model. Convert the whole model with"),
                (
                    place("results").path,
                    "contains a trained nnU-Net model (set/trained). Convert it with"
                ),
                (place("bundle").path, "is a MONAI bundle"), (models, "is not a model package: it has no model.json"),
            ] { #expect(try text(folder).hasPrefix("\(folder) \(advice)")) }
            let network = try place.write("x", to: "network.onnx").path
            #expect(try text(network).contains("is a network without a description"))
            #expect(try text("one") == "\"one\" is ambiguous: \(models)/x, \(models)/y; specify the folder")
            let version = try catalog.resolve(nameOrPath: models + "/x").version
            #expect(
                try text("one@\(version)")
                    == "\"one@\(version)\" is ambiguous: \(models)/x, \(models)/y; specify the folder"
            )
            let missing = "schemaVersion is missing. Copy the package again, or correct the file"
            #expect(try text("z") == "\(models)/z/model.json: \(missing)")
            #expect(try text("./nowhere").hasPrefix("./nowhere does not exist. "))
            let nothing = #expect(throws: ModelCatalogError.self) {
                try ModelCatalog(searchPath: []).resolve(nameOrPath: "one")
            }
            let words = "there is no model \"one\". There is none in any folder: give the path"
            #expect(nothing?.description.hasPrefix(words) == true)
        }
    }
}
