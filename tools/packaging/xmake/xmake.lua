package("sparsehs")
    set_kind("library", {headeronly = true})
    set_description("Sparse coding and hyperspectral analysis in one C99 header")
    set_license("MIT")

    add_urls("@URL@/sparsehs-$(version).tar.gz")
    add_versions("@VERSION@", "@SHA256@")

    if is_plat("linux", "bsd") then
        add_syslinks("m")
    end

    on_install(function (package)
        os.cp("sparsehs.h", package:installdir("include"))
        os.cp("sparsehs_cl.h", package:installdir("include"))
    end)

    on_test(function (package)
        assert(package:has_cfuncs("shs_build_info", {
            includes = "sparsehs.h",
            configs = {defines = "SPARSEHS_IMPLEMENTATION"}
        }))
    end)
package_end()
