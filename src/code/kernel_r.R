# SPDX-License-Identifier: Apache-2.0
# The R of a context, inside the sandbox; code/code.h tells how it is talked to. What is declared here is no name of the blocks'.
local({
  PIECE_MAX <- 4000L
  TABLE_ROWS_MAX <- 10000L
  nonce <- ""
  count <- 0L

  # ---- to the server ----

  # As JSON in ASCII, which can be cut anywhere.
  quoted <- function(text) {
    text <- iconv(enc2utf8(paste(text, collapse = "\n")), "UTF-8", "UTF-8", sub = "?")
    codes <- utf8ToInt(text)
    if (length(codes) == 0L) return('""')
    signs <- intToUtf8(codes, multiple = TRUE)
    low <- (codes < 32L | codes == 34L | codes == 92L | codes > 126L) & codes < 65536L
    high <- codes >= 65536L
    signs[low] <- sprintf("\\u%04x", codes[low])
    rest <- codes[high] - 65536L
    signs[high] <- sprintf("\\u%04x\\u%04x", 55296L + rest %/% 1024L, 56320L + rest %% 1024L)
    paste0('"', paste(signs, collapse = ""), '"')
  }

  to_json <- function(members) {
    paste0("{", paste(sprintf('"%s":%s', names(members), unlist(members)), collapse = ","), "}")
  }

  undivert <- function() {
    while (sink.number() > 0L) sink()
    if (sink.number(type = "message") != 2L) sink(type = "message")
  }

  send <- function(...) {
    text <- to_json(list(...))
    undivert()
    starts <- seq(1L, nchar(text), by = PIECE_MAX)
    flush(stdout())
    for (start in starts) {
      more <- if (start == starts[length(starts)]) "." else "+"
      cat("\x1e", nonce, more, substr(text, start, start + PIECE_MAX - 1L), "\n", sep = "", file = stdout())
      flush(stdout())
    }
  }

  # ---- results ----

  base64 <- function(bytes) {
    signs <- c(LETTERS, letters, 0:9, "+", "/")
    missing <- (3L - length(bytes) %% 3L) %% 3L
    bytes <- matrix(c(as.integer(bytes), integer(missing)), nrow = 3L)
    sixes <- rbind(
      bitwShiftR(bytes[1L, ], 2L),
      bitwOr(bitwShiftL(bitwAnd(bytes[1L, ], 3L), 4L), bitwShiftR(bytes[2L, ], 4L)),
      bitwOr(bitwShiftL(bitwAnd(bytes[2L, ], 15L), 2L), bitwShiftR(bytes[3L, ], 6L)),
      bitwAnd(bytes[3L, ], 63L)
    )
    text <- signs[as.vector(sixes) + 1L]
    if (missing > 0L) text[seq(length(text) - missing + 1L, length(text))] <- "="
    paste(text, collapse = "")
  }

  column <- function(values) {
    if (is.logical(values)) {
      texts <- ifelse(values, "true", "false")
    } else if (is.numeric(values) && !is.factor(values)) {
      texts <- vapply(seq_along(values), function(i) format(as.numeric(values[[i]]), digits = 15L), "")
      texts[!is.finite(values)] <- NA
    } else {
      texts <- vapply(as.character(values), quoted, "")
    }
    texts[is.na(values) | is.na(texts)] <- "null"
    paste0("[", paste(texts, collapse = ","), "]")
  }

  table_of <- function(value) {
    columns <- vapply(names(value), function(name) paste0(quoted(name), ":", column(value[[name]])), "")
    paste0("{", paste(columns, collapse = ","), "}")
  }

  has_table <- function(value) {
    is.data.frame(value) && nrow(value) <= TABLE_ROWS_MAX && all(vapply(value, is.atomic, TRUE))
  }

  tell_value <- function(value) {
    message <- list(type = '"result"', main = "true", text = quoted(utils::capture.output(print(value))))
    if (has_table(value)) message$data <- table_of(value)
    do.call(send, message)
  }

  # A figure is drawn to files of its own; they are shown when the block ends.
  figures <- tempfile("atoll-figure-")
  devices <- integer()
  options(device = function(...) {
    grDevices::png(paste0(figures, "-%03d.png"), width = 800, height = 600, res = 110, type = "cairo")
    devices <<- c(devices, grDevices::dev.cur())
  })

  tell_figures <- function() {
    for (device in intersect(devices, grDevices::dev.list())) grDevices::dev.off(device)
    devices <<- integer()
    files <- Sys.glob(paste0(figures, "-*.png"))
    for (file in files) {
      bytes <- readBin(file, "raw", file.size(file))
      if (length(bytes) > 0L) send(type = '"result"', text = '"<Figure>"', png = paste0('"', base64(bytes), '"'))
    }
    unlink(files)
  }

  # Where a condition comes from, unless that is this program.
  place_of <- function(condition) {
    call <- conditionCall(condition)
    text <- if (is.null(call)) "" else deparse(call, nlines = 1L)[[1L]]
    if (text == "" || grepl("^(eval\\(expressions\\[\\[i|parse\\(text = code)", text)) "" else paste0(" in ", text)
  }

  tell_error <- function(error, calls) {
    place <- place_of(error)
    lines <- vapply(calls, function(one) paste0("    ", deparse(one, nlines = 1L)[[1L]]), "")
    first <- paste0("Error", place, ": ", conditionMessage(error))
    send(type = '"error"', name = quoted(class(error)[[1L]]), value = quoted(conditionMessage(error)),
         traceback = quoted(c(first, lines)))
  }

  tell_warning <- function(warning) {
    message("Warning", place_of(warning), ": ", conditionMessage(warning))
    invokeRestart("muffleWarning")
  }

  # ---- code ----

  evaluate <- function(code) {
    expressions <- parse(text = code, keep.source = FALSE, encoding = "UTF-8")
    for (i in seq_along(expressions)) {
      found <- withVisible(eval(expressions[[i]], globalenv()))
      if (!found$visible) next
      if (i < length(expressions)) print(found$value)
      else if (!grepl(";\\s*$", code)) tell_value(found$value)
    }
  }

  guarded <- function(code) {
    calls <- list()
    keep <- function(error) {
      inner <- Filter(function(call) !deparse(call[[1L]])[[1L]] %in% c("h", ".handleSimpleError", "stop"), sys.calls())
      at <- Position(function(call) identical(call, quote(eval(expressions[[i]], globalenv()))), inner, right = TRUE)
      calls <<- if (is.na(at)) list() else inner[-seq_len(at)]
    }
    tryCatch(
      allowInterrupts(withCallingHandlers(evaluate(code), error = keep, warning = tell_warning)),
      error = function(error) tell_error(error, calls),
      interrupt = function(condition) {
        send(type = '"error"', name = '"KeyboardInterrupt"', value = '"the block was interrupted"',
             traceback = '"KeyboardInterrupt: the block was interrupted"')
      }
    )
  }

  with_environment <- function(entries, run) {
    at <- regexpr("=", entries, fixed = TRUE)
    entries <- entries[at > 1L]
    at <- at[at > 1L]
    names <- substr(entries, 1L, at - 1L)
    old <- Sys.getenv(names, unset = NA, names = FALSE)
    if (length(names) > 0L) do.call(Sys.setenv, stats::setNames(as.list(substring(entries, at + 1L)), names))
    run()
    for (i in seq_along(names)) {
      if (is.na(old[[i]])) Sys.unsetenv(names[[i]])
      else do.call(Sys.setenv, stats::setNames(list(old[[i]]), names[[i]]))
    }
  }

  run <- function(code, entries) {
    count <<- count + 1L
    send(type = '"begin"', count = count)
    with_environment(entries, function() guarded(code))
    undivert()
    tryCatch(tell_figures(), error = function(error) message("a figure is left out: ", conditionMessage(error)))
    send(type = '"end"')
    cat("\x1e", nonce, ".\n", sep = "", file = stderr())
  }

  # ---- from the server ----

  input <- file("stdin", "rb")

  read_text <- function(size) {
    bytes <- raw()
    while (length(bytes) < size) {
      part <- readBin(input, "raw", size - length(bytes))
      if (length(part) == 0L) quit("no")
      bytes <- c(bytes, part)
    }
    bytes
  }

  texts_of <- function(bytes) {
    if (length(bytes) == 0L) return(character())
    ends <- which(bytes == as.raw(0L))
    starts <- c(1L, ends + 1L)[seq_along(ends)]
    texts <- mapply(function(start, end) rawToChar(bytes[start - 1L + seq_len(end - start)]), starts, ends)
    Encoding(texts) <- "UTF-8"
    texts
  }

  if (!l10n_info()[["UTF-8"]]) Sys.setlocale("LC_CTYPE", "C.UTF-8")
  suspendInterrupts(repeat {
    head <- strsplit(rawToChar(read_text(35L)), "[ \n]")[[1L]]
    nonce <- head[[1L]]
    code <- rawToChar(read_text(as.integer(head[[2L]])))
    Encoding(code) <- "UTF-8"
    run(code, texts_of(read_text(as.integer(head[[3L]]))))
  })
})
