"""Associative recall, a task that is nothing but mixing: which mixers bring a token what another one holds?"""
